"""Collect logs into a store in tests, and check what must hold for every store."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path

from session_memory.adapters.databases import PART
from session_memory.collect.discover import roots
from session_memory.collect.row_sources import is_part
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config
from session_memory.core.index_words import words_in
from session_memory.core.roles import FIRST_LOGS
from session_memory.core.schema import Cost, SessionEvent, Usage
from session_memory.core.time import now_ms
from session_memory.derive.rebuilding import rebuild
from session_memory.derive.reindex import docs_of
from session_memory.derive.response_ids import SHARED_ID
from session_memory.retain.native_files import restore_native
from session_memory.retain.verification import verify
from session_memory.store.fingerprint import _parts as parts
from session_memory.store.memory_store import temporary_store
from session_memory.store.sources import total
from session_memory.store.store import Store, open_store
from session_memory.store.usage import BUCKETS

HOST = "here"
_make: Callable[[], Store] | None = None


def new_store() -> Store:
    """Return an empty store that is removed when it is closed. It is in memory, unless
    `stores_made_by` says otherwise."""
    return temporary_store() if _make is None else _make()


@contextmanager
def stores_made_by(make: Callable[[], Store]) -> Iterator[None]:
    """Within this context, let `new_store` call ``make``, for example to test on another
    database."""
    global _make
    before, _make = _make, make
    try:
        yield
    finally:
        _make = before


def collect(
    store: Store, root: Path, *, host: str = HOST, flavor: str | None = None
) -> SyncOutcome:
    """Sync all logs below ``root``, or only those of one flavor."""
    config = Config()
    only = () if flavor is None else (flavor,)
    return sync(store, config, roots(config, (root,), only), host=host)


def collected(root: Path, where: str | Path = "", *, flavor: str | None = None) -> Store:
    """Return a new store after one sync of ``root``.

    ``where`` is its path or address; without one, it is a `new_store`.
    """
    store = open_store(where, durability="normal") if where else new_store()
    collect(store, root, flavor=flavor)
    return store


def rebuilt(store: Store) -> Store:
    """Rebuild a store and return it: everything derived is made again from the stored logs."""
    done = rebuild(store, now_ms(), lambda repo, cwd: None, lambda source: None)
    assert not done.skipped, done.skipped
    return store


def events_of(store: Store, uid: str) -> list[SessionEvent]:
    """Return a session's own events, without those that it inherited."""
    row = store.sessions.row(uid)
    assert row is not None, f"no session {uid}"
    return store.events.of(row.id, uid)


def inherited_by(store: Store, uid: str) -> list[tuple[int, SessionEvent]]:
    """Return the events that a session inherited, each with its seq in this session."""
    row = store.sessions.row(uid)
    assert row is not None, f"no session {uid}"
    return store.events.inherited(row.id)


def usage_of(store: Store, uid: str) -> list[Usage]:
    """Return the usage of every response that counts for a session."""
    row = store.sessions.row(uid)
    assert row is not None, f"no session {uid}"
    return store.usage.of(row.id, uid)


def every_usage(store: Store) -> list[Usage]:
    return [usage for uid in store.sessions.uids() for usage in usage_of(store, uid)]


def contents(store: Store) -> list[str]:
    """Return the parts of a store's fingerprint as texts, to compare two stores."""
    return [json.dumps(part, sort_keys=True) for part in parts(store)]


def check_same(one: list[str], other: list[str]) -> None:
    """Fail with the differing lines unless the `contents` of two stores are equal."""
    only = "\n".join(line for line in unified_diff(one, other, lineterm="", n=0))
    assert not only, only


def lines_below(root: Path) -> int:
    """Return the number of whole, non-blank lines of all logs, counted without the code under test.

    A document with messages counts one line for each message, and three for the rest.
    """
    logs = [path.read_bytes() for path in root.rglob("*.jsonl") if path.is_file()]
    lines = [(data, line) for data in logs for line in data.split(b"\n") if line.strip()]
    documents = [json.loads(path.read_bytes()) for path in root.rglob("*.json") if path.is_file()]
    messages = [one["messages"] for one in documents if isinstance(one, dict) and "messages" in one]
    return sum(_is_line(*line) for line in lines) + sum(len(one) + 3 for one in messages)


def _is_line(data: bytes, line: bytes) -> bool:
    """Whether a line is whole. Only the last line of a log may be incomplete."""
    if not data.endswith(line):
        return True
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def check_sound(store: Store, *, sample: int = 1000) -> None:
    """Check that `verify` finds nothing, every line is accounted for and nothing counts twice.

    ``sample`` is how many sessions `verify` derives again and compares. With 0, the caller should
    compare the `contents` with those of a store that was checked.
    """
    findings = verify(store, sample=sample).findings
    assert not findings, findings
    account = total(store.sources.account())
    assert account.unaccounted == 0, account
    _check_usage(store)
    for uid in store.sessions.uids():
        _check_session(store, uid)
    check_index(store)


def _check_usage(store: Store) -> None:
    """Check that no usage counts twice, and that sessions which have a response id in common have
    a problem that says so."""
    every = every_usage(store)
    times = Counter((usage.session_uid, usage.usage_id) for usage in every)
    assert not [one for one, count in times.items() if count > 1]
    figures = [
        tuple(usage.to_dict()[name] for name in ("usage_id", "ts", *BUCKETS))
        for usage in every
        if usage.ts is not None
    ]
    assert not [one for one, count in Counter(figures).items() if count > 1]
    responses = Counter(usage.usage_id for usage in every)
    expected = {usage.session_uid for usage in every if responses[usage.usage_id] > 1}
    noted = [p.detail.split(": ")[0] for p in store.problems.every() if p.reason == SHARED_ID]
    assert len(noted) == len(set(noted)) and set(noted) <= expected, (noted, expected)
    # A session without an event, or an evicted one, has no place for such a problem.
    assert all(_has_no_place(store, uid) for uid in expected.difference(noted))


def _has_no_place(store: Store, uid: str) -> bool:
    row = store.sessions.row(uid)
    assert row is not None
    return row.evicted_at is not None or store.response_ids.first_shared_by(row.id) is None


def check_index(store: Store) -> None:
    """Check that the search index counts for each word the events and titles that contain it."""
    expected: Counter[str] = Counter()
    for session_id, (uid, _) in store.sessions.revisions().items():
        for _, text in docs_of(store, session_id, uid):
            expected.update(set(words_in(text)))
    assert store.index.is_complete
    _check_terms(store.index.terms_from(""), expected)
    called: Counter[str] = Counter()
    for _, title in store.sessions.titles():
        called.update(set(words_in(title)))
    _check_terms(store.index.title_terms(), called)


def _check_terms(found: list[tuple[str, int]], expected: Counter[str]) -> None:
    differing = set(found) ^ set(expected.items())
    assert not differing, sorted(differing)[:20]


def _check_session(store: Store, uid: str) -> None:
    session, events = store.sessions.get(uid), events_of(store, uid)
    assert session is not None
    used = sum((usage.cost for usage in usage_of(store, uid)), Cost())
    used.turns, used.retries = session.cost.turns, session.cost.retries
    used.wall_clock_s = session.cost.wall_clock_s
    assert session.cost == used, f"the cost of {uid} is not the sum of its usage"
    row = store.sessions.row(uid)
    assert row is not None
    if row.evicted_at is None:
        assert row.event_count == len(events), f"{uid} has {len(events)} events"
    seqs = [event.seq for event in events]
    assert seqs == sorted(set(seqs)), f"the events of {uid} are out of order"
    assert all(e.parent_seq is None or e.parent_seq < e.seq for e in events), uid
    uids = [event.event_uid for event in events]
    assert len(set(uids)) == len(uids), f"{uid} holds an event twice"


def check_restores(store: Store, root: Path | None, target: Path, logs: str = "*.jsonl") -> None:
    """Restore the collected files to ``target`` and check that they equal the native ones.

    With ``root``, also check that every file below it whose name matches ``logs`` was collected.
    """
    written = {item.path.relative_to(target) for item in restore_native(store, None, target)}
    kept = [row for row in store.sources.every() if not row.superseded and row.ingested_at]
    assert len(written) == len(kept)
    for row in kept:
        again, native = target / row.home_path, Path(row.path)
        # A log that was moved or compressed after the sync cannot be compared.
        assert not native.exists() or again.read_bytes() == native.read_bytes(), row.path
    if root is None:
        return
    kept_logs = [row for row in kept if row.role in FIRST_LOGS]
    there = {path for path in root.rglob(logs) if path.is_file()}
    paths = {row.path.rpartition(PART)[0] if is_part(row) else row.path for row in kept_logs}
    assert set(map(Path, paths)) == there
