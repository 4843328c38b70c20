"""Forgetting: a session out of the store, its free pages and log, the index, the lake and the
archive, with proof; and a tombstone that keeps it out.

First the files beside the store, then its rows in one transaction, then its free pages. Killed in
between, the session is either still there to be forgotten again, or the store remembers that it
has to be swept.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.config import Config
from session_memory.core.errors import ArchiveError, CannotForget, UnknownSession
from session_memory.core.ids import make_uid, split_uid
from session_memory.derive import inclusive
from session_memory.derive.derivation import derive_closure, derive_stale
from session_memory.derive.evicted import archive_of, beside, bring_back, family
from session_memory.derive.forgotten import mask_stored
from session_memory.derive.line_counts import LineCounts
from session_memory.derive.raw_source import stored_records
from session_memory.derive.tables import LIVE, refs_of
from session_memory.retain import archive_edit, lake
from session_memory.retain.archive_edit import Tainted
from session_memory.retain.proof import Proof, Samples, prove
from session_memory.store.address import is_postgres
from session_memory.store.digests import Digests
from session_memory.store.raw import DICTIONARY_BYTES
from session_memory.store.retention import SESSION, SOURCE, session_key, source_key
from session_memory.store.retention_archive import Archive, unpacked
from session_memory.store.retention_forget import (
    delete_live,
    delete_sessions,
    is_live,
    live_holders,
    replace_dictionaries,
)
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

UNSWEPT = "unswept"
_WORDS = ("text", "sample", "title", "command")


class ForgetPlan(msgspec.Struct, kw_only=True):
    """What will be forgotten. ``shared`` are sources that other sessions are read from too: the
    records in them become blanks. ``keep`` are sessions that hold copies and keep them."""

    uids: list[str]
    sources: list[str] = []
    shared: list[str] = []
    keep: list[str] = []
    archives: list[str] = []
    unreachable: list[str] = []


class ForgetResult(msgspec.Struct, kw_only=True):
    plan: ForgetPlan
    proof: Proof


class _Chosen(msgspec.Struct):
    """The same by number."""

    sessions: dict[int, str]
    live: list[str]
    whole: list[SourceRow]
    shared: list[SourceRow]
    kin: set[int]


def with_relatives(
    store: Store, uids: Iterable[str], *, subagents: bool = True, forks: bool = False
) -> list[str]:
    """The sessions themselves, and what goes with them."""
    found, waiting = [], list(uids)
    while waiting:
        uid = waiting.pop(0)
        if uid in found:
            continue
        found.append(uid)
        for child in store.sessions.children(uid):
            row = store.sessions.row(child)
            relation = row.relation if row else None
            if (subagents and relation == "subagent") or (forks and relation in ("fork", "resume")):
                waiting.append(child)
    return found


def plan_of(store: Store, config: Config, uids: list[str]) -> ForgetPlan:
    """What forgetting these would do; nothing is changed."""
    return _told(store, config, _choose(store, uids), uids)


def forget(store: Store, config: Config, uids: list[str], now: int) -> ForgetResult:
    """Forget sessions for good. What kept sessions hold of them stays theirs."""
    with store.db.operation_lock(shared=False):
        return _forget(store, config, uids, now)


def _forget(store: Store, config: Config, uids: list[str], now: int) -> ForgetResult:
    _bring_back_shared(store, config, uids)
    chosen = _choose(store, uids)
    told = _told(store, config, chosen, uids)
    archive = archive_of(store, config)
    samples, is_tainted = _before(store, archive, chosen)
    if archive is not None:
        _out_of_archive(store, archive, chosen, is_tainted, now)
    lake.forget(lake.place(store, config), uids)
    with store.transaction():
        _out_of_store(store, config, chosen, is_tainted, now)
    sweep(store)
    proof = prove(store, archive, lake.place(store, config), samples)
    return ForgetResult(plan=told, proof=proof)


def sweep(store: Store) -> bool:
    """Free pages and the log hold what was deleted until they are written anew."""
    if not store.retention.tombstones().get(UNSWEPT):
        return False
    with store.db.operation_lock(shared=False):
        with store.transaction():
            store.index.purge()
        store.db.vacuum()
        if not _has_log(store):
            with store.transaction():
                store.retention.remove_tombstones(UNSWEPT)
    return True


def _has_log(store: Store) -> bool:
    """Somebody who reads keeps SQLite from clearing its log away: that is swept the next time."""
    log = Path(f"{store.db.name}-wal")
    return not is_postgres(store.db.name) and log.exists() and log.stat().st_size > 0


def allow_again(store: Store, uid: str) -> bool:
    """Let a forgotten session come back with the next sync; says whether it was forgotten."""
    buried = store.retention.tombstones().get(SESSION, set())
    known = session_key(uid) in buried
    with store.transaction():
        store.retention.remove_tombstones(session_key(uid))
    return known


# ---------------------------------------------------------------- choosing


def _choose(store: Store, uids: list[str]) -> _Chosen:
    sessions: dict[int, str] = {}
    live = []
    for uid in uids:
        row = store.sessions.row(uid)
        flavor, native = split_uid(uid)
        has_rows = flavor == LIVE and is_live(store.db, native)
        if row is None and not has_rows:
            raise UnknownSession(uid)
        if row is not None:
            sessions[row.id] = uid
        if has_rows:
            live.append(native)
    _refuse_live_holders(store, live)
    whole, shared = _sources(store, sessions)
    kin = {other for one in sessions for other in derive_closure(store, one)} - set(sessions)
    return _Chosen(sessions, live, whole, shared, kin)


def _refuse_live_holders(store: Store, live: list[str]) -> None:
    for native in live:
        others = sorted(set(live_holders(store.db, native)) - set(live))
        if others:
            raise CannotForget(
                f"live session {others[0]} begins with the messages of {native}",
                "Forget both: session-memory forget UID --with-forks",
            )


def _sources(store: Store, sessions: dict[int, str]) -> tuple[list[SourceRow], list[SourceRow]]:
    """Sources of these sessions alone, and those that others are read from as well."""
    found: dict[int, SourceRow] = {}
    for session, uid in sessions.items():
        for source in store.sources.read_by(session):
            found[source.id] = source
        flavor, native = split_uid(uid)
        for source in store.sources.named_for(flavor, native):
            if not store.sessions.of_source(source.id) and not source.agent:
                found[source.id] = source
    alone = {s: set(store.sessions.of_source(s)) <= set(sessions) for s in found}
    return (
        [row for source, row in found.items() if alone[source]],
        [row for source, row in found.items() if not alone[source]],
    )


def _bring_back_shared(store: Store, config: Config, uids: list[str]) -> None:
    """Records can be blanked only in a raw that is here."""
    sessions = _choose(store, uids).sessions
    _, shared = _sources(store, sessions)
    away = [row for row in shared if store.retention.evicted_source(row.id) is not None]
    if not away:
        return
    kin = {
        k for row in away for one in store.sessions.of_source(row.id) for k in family(store, one)
    }
    with store.transaction():
        bring_back(store, archive_of(store, config), sorted(kin))
        derive_stale(store, 0, config.domain_of)


def _told(store: Store, config: Config, chosen: _Chosen, uids: list[str]) -> ForgetPlan:
    archive = archive_of(store, config)
    sources = [row.uid for row in (*chosen.whole, *chosen.shared)]
    files = (
        []
        if archive is None
        else archive_edit.files_to_change(archive, sources, uids, lambda dictionary: False)
    )
    return ForgetPlan(
        uids=list(uids),
        sources=[row.path for row in chosen.whole],
        shared=[row.path for row in chosen.shared],
        keep=sorted(store.sessions.row_by_id(one).uid for one in chosen.kin),
        archives=[file.name for file in files],
        unreachable=list(_unreachable(store, chosen, archive)),
    )


def _unreachable(store: Store, chosen: _Chosen, archive: Archive | None) -> Iterator[str]:
    for row in (*chosen.whole, *chosen.shared):
        if Path(row.path).exists():
            yield f"{row.path}: the agent's own log, which is never written to"
    for row in chosen.whole:
        away = store.retention.evicted_source(row.id)
        if away is not None and away.file and not _is_there(archive, away.file):
            yield f"{away.file}: an archive that is not at hand"
    place = beside(store)
    if is_postgres(store.db.name):
        yield f"{store.db.name}: the server's write-ahead log, replicas and base backups"
    elif place is not None:
        name = Path(store.db.name).name
        for file in sorted(place.glob(f"{name}.before-step-*")):
            yield f"{file}: a copy from before an update; delete it when you no longer need it"
    yield (
        "copies made with backup, export, train export, lake export --to, copy-store or"
        " restore-native, wherever they are, and archives that archive_dir no longer names"
    )


def _is_there(archive: Archive | None, name: str) -> bool:
    try:
        return archive is not None and archive.path(name).exists()
    except ArchiveError:
        return False


# ---------------------------------------------------------------- taking out


def _before(store: Store, archive: Archive | None, chosen: _Chosen) -> tuple[Samples, Tainted]:
    """What to look for afterwards, and which dictionaries may hold a beginning of it."""
    samples, heads = Samples(), []
    for session, uid in chosen.sessions.items():
        row = store.sessions.row_by_id(session)
        samples.add_text(row.title)
        for event in store.events.each_of(session, uid):
            samples.add_text(event.summary)
        for text in _digested(store, uid):
            samples.add_text(text)
    for source in chosen.whole:
        head = b""
        for piece in _raw(store, archive, source):
            head += piece[: DICTIONARY_BYTES - len(head)]
            samples.add_raw(piece)
        heads.append(head)
    for source in chosen.shared:
        pieces = store.raw.pieces(source.id)
        heads.append(next(pieces, b"")[:DICTIONARY_BYTES])
    unknown = _of_unknown_origin(store, archive, chosen)
    return samples, lambda found: found in unknown or any(head.startswith(found) for head in heads)


def _of_unknown_origin(store: Store, archive: Archive | None, chosen: _Chosen) -> set[bytes]:
    """Dictionaries that no kept log begins with, where nobody can tell any more how a forgotten
    one began: one of them may be its beginning."""
    lost = {row.flavor for row in chosen.whole if _is_lost(store, archive, row)}
    if not lost:
        return set()
    known = [(flavor, body) for _, flavor, body in store.retention.dictionaries()]
    if archive is not None:
        for file in archive.files():
            known += archive.dictionaries(file).values()
    unknown = {bytes(zstd.decompress(body)) for flavor, body in known if body and flavor in lost}
    for head in _heads_of_kept(store, archive, lost, {row.uid for row in chosen.whole}):
        unknown = {one for one in unknown if not head.startswith(one)}
        if not unknown:
            break
    return unknown


def _heads_of_kept(
    store: Store, archive: Archive | None, flavors: set[str], gone: set[str]
) -> Iterator[bytes]:
    """The beginnings of all other logs, each file of the archive read once."""
    for row in store.sources.every():
        if row.flavor in flavors and row.uid not in gone:
            yield b"".join(store.raw.pieces(row.id, 0, DICTIONARY_BYTES))
    if archive is None:
        return
    for file in archive.files():
        held = {one.source.uid: one.source.flavor for one in archive.manifest(file).sources}
        wanted = {uid for uid, flavor in held.items() if flavor in flavors} - gone
        now, head = "", b""
        for uid, pack, dictionary in archive.read(file, wanted) if wanted else ():
            if uid != now:
                yield head
                now, head = uid, b""
            if pack.start < DICTIONARY_BYTES:
                head += unpacked(file, pack, dictionary)
        yield head


def _digested(store: Store, uid: str) -> Iterator[str]:
    """Words of a session that its digest has, when its events are gone."""
    body = Digests(store.db).body(uid)
    waiting: list[Any] = [] if body is None else [msgspec.json.decode(body)]
    while waiting:
        told = waiting.pop()
        if isinstance(told, dict):
            yield from (told[name] for name in _WORDS if isinstance(told.get(name), str))
        waiting += told.values() if isinstance(told, dict) else told
        waiting = [one for one in waiting if isinstance(one, dict | list)]


def _is_lost(store: Store, archive: Archive | None, row: SourceRow) -> bool:
    away = store.retention.evicted_source(row.id)
    return away is not None and not (away.file and _is_there(archive, away.file))


def _raw(store: Store, archive: Archive | None, source: SourceRow) -> Iterator[bytes]:
    """All of it that is at hand: out of the archive, and what came since."""
    away = store.retention.evicted_source(source.id)
    if away is not None and archive is not None and not _is_lost(store, archive, source):
        file = archive.path(away.file or "")
        for _, pack, dictionary in archive.read(file, {source.uid}):
            yield unpacked(file, pack, dictionary)
    yield from store.raw.pieces(source.id)


def _out_of_archive(
    store: Store, archive: Archive, chosen: _Chosen, is_tainted: Tainted, now: int
) -> None:
    uids = [row.uid for row in (*chosen.whole, *chosen.shared)]
    sessions = list(chosen.sessions.values())
    if not archive.directory.is_dir():
        return
    with archive.writing():
        for file in archive_edit.files_to_change(archive, uids, sessions, is_tainted):
            archive_edit.rewrite(store, archive, file, uids, sessions, is_tainted, now)


def _out_of_store(
    store: Store, config: Config, chosen: _Chosen, is_tainted: Tainted, now: int
) -> None:
    containing = {one for session in chosen.sessions for one in store.turns.containing(session)}
    natives = {split_uid(uid)[1] for uid in chosen.sessions.values()}
    for row in chosen.shared:
        mask_stored(store, row, natives.__contains__)
        # What its lines came to is counted anew when its other sessions are derived.
    tainted = [
        number
        for number, _, body in store.retention.dictionaries()
        if body and is_tainted(zstd.decompress(body))
    ]
    keep = chosen.kin | {o for row in chosen.shared for o in store.sessions.of_source(row.id)}
    keep -= set(chosen.sessions)
    delete_sessions(store, chosen.sessions, [row.id for row in chosen.whole])
    delete_live(store.db, chosen.live)
    replace_dictionaries(store, tainted)
    for row in chosen.shared:
        _count_lines(store, row)
    for other in keep:
        store.sessions.mark_stale(other)
    derive_stale(store, now, config.domain_of)
    inclusive.balance(store, containing - set(chosen.sessions))
    _bury(store, chosen, now)


def _count_lines(store: Store, row: SourceRow) -> None:
    """A blank line is none."""
    counts = LineCounts()
    counts.add(list(stored_records(store, row)))
    row.lines = row.lenient = 0
    row.bookkeeping = "{}"
    counts.add_to(row)
    store.sources.save(row)


def _bury(store: Store, chosen: _Chosen, now: int) -> None:
    live = {f"{LIVE}:{native}" for native in chosen.live}
    ours = {str(ref.path) for native in chosen.live for ref in refs_of(native)}
    keys = [session_key(uid) for uid in chosen.sessions.values() if uid not in live]
    # One that was live alone has no tombstone, but what went with it is lifted by its name.
    first = next(iter(keys), session_key(next(iter((*chosen.sessions.values(), *sorted(live))))))
    for key in keys:
        store.retention.add_tombstone(SESSION, key, now)
    for row in chosen.whole:
        if row.path not in ours:
            named = session_key(make_uid(row.flavor, row.session)) if row.session else ""
            with_key = named if named in keys else first
            store.retention.add_tombstone(SOURCE, source_key(row.host, row.path), now, with_key)
    store.retention.add_tombstone(UNSWEPT, UNSWEPT, now)
