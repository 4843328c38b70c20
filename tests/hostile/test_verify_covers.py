"""`verify` finds a fault in each kind of stored data, and says how many of all it checked."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.learn.analyze import analyze
from session_memory.learn.digest import decoded
from session_memory.live.store import SessionStore
from session_memory.memory import Memory as Remembered
from session_memory.retain.verification import VerifyReport, verify
from session_memory.retain.verify_sample import sample_of
from session_memory.store.database import Params, Row
from session_memory.store.digests import Digests
from session_memory.store.sqlite import Sqlite
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

from .conftest import Memory
from .logs import log, rounds, uuid

SESSIONS = 6


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for number in range(SESSIONS):
        log(memory.root, uuid("s", number), rounds(uuid("s", number), 2))
    with SessionStore.open(memory.where) as live:
        session = live.create_session()
        live.append_message(session_id=session, role="user", content="hello")
    memory.sync()
    with memory.opened() as store:
        analyze(store)
    return memory


def _changed_digest(store: Store) -> None:
    uid = store.sessions.uids()[0]
    body = Digests(store.db).body(uid)
    assert body is not None
    changed = json.loads(body)
    changed["cost"]["turns"] += 1
    decoded(json.dumps(changed).encode())
    new = zstd.compress(json.dumps(changed).encode())
    change = "update digests set body = :body where session_uid = :uid"
    store.db.execute(change, {"body": new, "uid": uid})


def _statement(sql: str) -> Callable[[Store], None]:
    def run(store: Store) -> None:
        last = store.sessions.row(store.sessions.uids()[-2])
        assert last is not None
        given = {"id": last.id, "uid": last.uid, "bad": b"rubbish"}
        store.db.execute(sql, {k: v for k, v in given.items() if f":{k}" in sql} or None)

    return run


ONE_EVENT = "(select min(id) from events where session_id = :id)"
# What is wrong, in which finding it is, and how many sessions have to be derived for that.
FAULTS: dict[str, tuple[Callable[[Store], None], str, int | None]] = {
    "a summary": (
        _statement(f"update events set summary = 'other' where id = {ONE_EVENT}"),
        "differ from its log",
        None,
    ),
    "an event": (_statement(f"delete from events where id = {ONE_EVENT}"), "events are there", 0),
    "a name": (_statement("delete from names"), "table names", 0),
    "usage": (_statement("delete from usage where session_id = :id"), "sum of its usage", 0),
    "a digest": (_changed_digest, "digest differs from its events", None),
    "a digest's bytes": (
        _statement("update digests set body = :bad where session_uid = :uid"),
        "digest cannot be read",
        0,
    ),
    "a digest's row": (
        _statement("update digests set tokens = 7 where session_uid = :uid"),
        "digest differs from its row",
        0,
    ),
    "a live message": (_statement("update live_messages set meta = '{'"), "cannot be read", 0),
    "a pack": (_statement("delete from packs"), "bytes were kept", 0),
}


# Each of these runs all statements of `verify`. What a fault is decided by has no SQL of its own.
ON_BOTH = ("a summary", "a name", "a pack")


@pytest.mark.parametrize(
    "name",
    [n if n in ON_BOTH else pytest.param(n, marks=pytest.mark.only("sqlite")) for n in FAULTS],
)
def test_a_fault_is_found(filled: Memory, name: str) -> None:
    spoil, expected, sample = FAULTS[name]
    with Remembered(filled.where) as memory:
        assert memory.verify(None).findings == ()
        with memory.store.transaction():
            spoil(memory.store)
        memory.store.names.forget()
        found = memory.verify(sample)
    assert not found.ok
    assert any(expected in finding for finding in found.findings), found.findings


def test_it_says_how_many_of_all_were_checked(filled: Memory) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["store", "verify", "--store", filled.where, *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    every = SESSIONS + 1
    assert f"derived 2 of {every} sessions again" in run("--sample", "2")
    assert f"2 of {every} sessions derived again" in run("--sample", "2")
    assert "Not all" not in run("--sample", "all")
    checked = json.loads(run("--sample", "0", "--json"))["checked"]
    assert checked["sessions"] == {"checked": 0, "of": every}
    assert checked["logs"]["checked"] == checked["logs"]["of"] > SESSIONS
    assert checked["digests"] == {"checked": every, "of": every}
    assert checked["digests_made_again"] == {"checked": 0, "of": every}
    assert checked["live_messages"]["checked"] == 1
    wrong = CliRunner().invoke(main, ["store", "verify", "--sample", "some"])
    assert wrong.exit_code == 2 and "a number, or all" in wrong.stderr


@pytest.mark.only("sqlite")
def test_the_sample_is_another_one_each_time(filled: Memory) -> None:
    with filled.opened() as store:
        samples = {tuple(sample_of(store, 2, VerifyReport())) for _ in range(40)}
        assert len(samples) > 1
        assert len(sample_of(store, None, VerifyReport())) == SESSIONS + 1
        found = verify(store, sample=2)
        assert found.sessions >= 2 and found.checked["sessions"].of == SESSIONS + 1


@pytest.mark.only("sqlite")
def test_a_session_of_an_interrupted_sync_needs_a_sync_and_no_rebuild(filled: Memory) -> None:
    with Remembered(filled.where) as memory:
        with memory.store.transaction():
            _statement(f"update events set summary = 'old' where id = {ONE_EVENT}")(memory.store)
            _statement("update sessions set stale = 1 where id = :id")(memory.store)
        (finding,) = memory.verify(None).findings
    assert finding.endswith("a sync was interrupted; run: session-memory sync")


def test_a_session_is_hashed_and_compared_without_all_its_events_in_memory(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(memory.root, uuid("long"), rounds(uuid("long"), 700))
    memory.sync()
    sizes: list[int] = []
    really = Sqlite.all

    def rows(self: Sqlite, sql: str, params: Params | None = None) -> list[Row]:
        found = really(self, sql, params)
        if "e.native_kind" in sql:
            sizes.append(len(found))
        return found

    monkeypatch.setattr(Sqlite, "all", rows)
    with memory.opened() as store:
        assert store.events.count() > 1000
        assert verify(store).findings == []
        store.fingerprint()
    assert 0 < max(sizes) <= 500
