"""Long work holds the write lock for short pieces, and reads logs and archives without it.

Nothing is timed here. A piece ends after no time at all, so every step that can be a transaction of
its own is one, and the holds of the lock are counted. `benchmarks/live_waits.py` measures them.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keeping import Keeper, analyzed, talk

from session_memory.collect import batches, file_pieces
from session_memory.derive import (
    cluster_records,
    derivation,
    new_sessions,
    rebuilding,
    reindex,
    stale_sessions,
)
from session_memory.derive.stale_sessions import derive_stale
from session_memory.learn.analyze import analyze
from session_memory.live import SessionStore
from session_memory.retain.forget import compact, forget
from session_memory.store import open_store, pieces
from session_memory.store.lock_holds import LockHold, listening
from session_memory.store.retention import Retention
from session_memory.store.retention_archive import Archive
from session_memory.store.sessions import Sessions
from session_memory.testing.collecting import check_same, check_sound, collect, contents, rebuilt

pytestmark = pytest.mark.every(3)

COUNT = 6


@pytest.fixture(autouse=True)
def _smallest_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_S", 0.0)
    monkeypatch.setattr(pieces, "LEAST_SHARE", 0.0)


@pytest.fixture
def filled(keeper: Keeper) -> Keeper:
    """Some sessions, one of them with a fork."""
    for number in range(COUNT):
        log = talk(keeper.claude.session(f"session-{number}"), f"one{number}", f"two{number}")
    talk(keeper.claude.fork(log, "fork"), "own")
    keeper.collect()
    return keeper


def holds_of(work: Callable[[], object]) -> list[LockHold]:
    holds: list[LockHold] = []
    with listening(holds.append):
        work()
    return holds


def outside(keeper: Keeper, read: Callable[..., Any]) -> Callable[..., Any]:
    """``read``, which fails within a write transaction."""

    def checked(*arguments: Any, **named: Any) -> Iterator[Any]:
        for one in read(*arguments, **named):
            assert not keeper.store.db.is_writing, "it is read while others wait for the lock"
            yield one

    return checked


@pytest.fixture
def reads_outside(filled: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cluster_records, new_sessions, rebuilding):
        monkeypatch.setattr(module, "stored_records", outside(filled, module.stored_records))


def test_a_hold_has_its_times_by_the_clock_and_of_cpu(filled: Keeper) -> None:
    with filled.store.transaction():
        pass
    (hold,) = holds_of(lambda: analyzed(filled.store))
    assert hold.what == "transaction"
    assert hold.wall >= 0 <= hold.cpu


def test_a_sync_writes_piece_by_piece(filled: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_pieces, "SHORT_SEGMENT", 1000)
    monkeypatch.setattr(file_pieces, "SHORT_LINES", 2)
    monkeypatch.setattr(file_pieces, "WINDOW", 100)
    monkeypatch.setattr(batches, "BATCH_RECORDS", 2)
    log = talk(filled.claude.session("long"), *(f"word{number}" for number in range(10)))
    holds = holds_of(filled.collect)
    assert len(holds) >= len(log.lines) // 4
    check_sound(filled.store)
    check_same(contents(filled.store), contents(rebuilt(filled.store)))


@pytest.mark.usefixtures("reads_outside")
def test_a_sync_reads_logs_before_it_derives_sessions_again(filled: Keeper) -> None:
    filled.claude.logs[COUNT - 1].prompt("the origin goes on")
    filled.collect()
    assert not filled.store.sessions.stale()
    check_sound(filled.store)


@pytest.mark.every(1)  # No other gives a server its statements.
@pytest.mark.parametrize("all_are_stale", [False, True])
def test_what_another_process_writes_meanwhile_is_derived_as_well(
    filled: Keeper, monkeypatch: pytest.MonkeyPatch, all_are_stale: bool
) -> None:
    """A second fork comes after the logs were read, and before the sessions are written.

    If all are stale, the logs of several sessions are read first, and the fork concerns the last.
    """
    surveyed, came = stale_sessions._StaleSessions._surveyed, []

    def with_another(*arguments: Any) -> Any:
        found = surveyed(*arguments)
        if not came:
            came.append(talk(filled.claude.fork(filled.claude.logs[COUNT - 1], "late"), "late"))
            with open_store(filled.place, durability="normal") as other:
                collect(other, filled.claude.write(came), host="here")
        return found

    with filled.store.transaction():
        for number in range(COUNT) if all_are_stale else [COUNT - 1]:
            row = filled.store.sessions.row(f"claude:session-{number}")
            assert row is not None
            filled.store.sessions.mark_stale(row.id)
    monkeypatch.setattr(stale_sessions._StaleSessions, "_surveyed", with_another)
    derive_stale(filled.store, 1, lambda repo, cwd: None)
    assert came
    assert not filled.store.sessions.stale()
    check_sound(filled.store)
    check_same(contents(filled.store), contents(rebuilt(filled.store)))


def test_an_analysis_stores_session_by_session(filled: Keeper) -> None:
    assert len(holds_of(lambda: analyze(filled.store))) == COUNT + 1


def test_a_new_index_is_written_piece_by_piece(
    filled: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindex, "GATHERED", 10)
    holds = holds_of(lambda: reindex.reindex(filled.store))
    assert len(holds) > filled.store.events.count()
    check_sound(filled.store)


@pytest.mark.usefixtures("reads_outside")
def test_a_rebuild_reads_logs_outside_of_its_transactions(filled: Keeper) -> None:
    before = contents(filled.store)
    holds = holds_of(lambda: rebuilt(filled.store))
    # Each source is marked and read again, and each session but the fork is derived alone.
    assert len(holds) >= 3 * COUNT
    check_same(before, contents(filled.store))


@pytest.mark.every(1)  # No other gives a server its statements.
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_rebuild_writes_forks_one_by_one(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    monkeypatch.setattr(derivation, "PIECE_EVENTS", 0)
    origin = talk(keeper.claude.session("origin"), "one")
    forks = [keeper.claude.fork(origin, f"fork-{number}") for number in range(6)]
    for number, fork in enumerate(forks):
        talk(fork, f"own{number}")
    if goes_on:
        talk(origin, "two")
    keeper.collect()
    before = contents(keeper.store)
    used = tokens(keeper)[0]
    assert used
    written: list[int] = []
    run = derivation.Derivation._run

    def counted(self: derivation.Derivation, piece: list[int], kept: list[int]) -> None:
        written.append(len(piece))
        run(self, piece, kept)
        # Each token counts once, also between two pieces.
        assert tokens(keeper) == (used, used)

    monkeypatch.setattr(derivation.Derivation, "_run", counted)
    rebuilt(keeper.store)
    assert written == [1] * 7
    check_same(before, contents(keeper.store))
    check_sound(keeper.store)


def tokens(keeper: Keeper) -> tuple[int, int]:
    """The output of all sessions, and of all usage that counts."""
    total = "select sum(output_tokens) from {}"
    usage = f"{total.format('usage')} where owner_id is not null"
    db = keeper.store.db
    return int(db.value(total.format("sessions"))), int(db.value(usage))


def test_forgetting_purges_the_index_in_steps_and_leaves_live_tables_alone(filled: Keeper) -> None:
    uids = ["claude:session-0", "claude:session-1"]
    holds = holds_of(lambda: forget(filled.store, filled.config, uids, 1))
    cleared = [hold.what for hold in holds if hold.what.startswith(("vacuum", "clearing"))]
    assert cleared
    assert "vacuum" not in cleared, "the whole file is rewritten while others wait"
    assert not [what for what in cleared if "live_" in what]
    assert len(holds) - len(cleared) >= 4
    assert not filled.store.retention.tombstones().get("unswept")
    check_sound(filled.store)


@pytest.mark.only("sqlite")
def test_compacting_and_evicting_do_not_rewrite_the_file(filled: Keeper) -> None:
    analyzed(filled.store)
    before = filled.store.db.bytes_on_disk()
    holds = holds_of(filled.retain)
    assert filled.store.db.value("pragma freelist_count") == 0
    with filled.store.transaction():
        filled.store.index.clear()
    holds += holds_of(lambda: compact(filled.store, filled.config, 1))
    assert "vacuum" not in [hold.what for hold in holds]
    assert filled.store.db.value("pragma freelist_count") == 0
    assert filled.store.db.bytes_on_disk() < before


@pytest.mark.only("sqlite")
def test_a_file_of_an_earlier_version_is_rewritten_once(filled: Keeper) -> None:
    db = filled.store.db
    db.execute("pragma auto_vacuum = 0")
    db.execute("vacuum")
    assert db.value("pragma auto_vacuum") == 0
    analyzed(filled.store)
    assert [hold.what for hold in holds_of(filled.retain)].count("vacuum") == 1
    filled.restore()
    analyzed(filled.store)
    assert "vacuum" not in [hold.what for hold in holds_of(filled.retain)]


@pytest.mark.only("postgresql")
def test_compacting_rewrites_all_tables_that_had_rows(filled: Keeper) -> None:
    # Another test may have had this schema, and rows in it.
    filled.store.db.execute("vacuum full live_messages")
    holds = [hold.what for hold in holds_of(lambda: compact(filled.store, filled.config, 1))]
    assert {"vacuum of events", "vacuum of packs", "vacuum of words"} <= set(holds)
    assert "vacuum of live_messages" not in holds


@pytest.mark.only("postgresql")
def test_compacting_leaves_a_table_that_a_live_session_waits_for(
    filled: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SessionStore.open(filled.place) as live:
        live.append_message(live.create_session(), role="user", content="before")
    waiting = threading.Event()
    execute = filled.store.db.execute

    def execute_slowly(sql: str, *params: Any) -> Any:
        """As if the table were large: it stays locked until the server cancels that."""
        if not (sql.startswith("vacuum") and sql.endswith("live_messages")):
            return execute(sql, *params)
        with filled.store.db.transaction(shared=True):
            execute("lock table live_messages")
            waiting.set()
            return execute("select pg_sleep(20)")

    def append() -> None:
        assert waiting.wait(20)
        live = SessionStore.open(filled.place)
        live.append_message(live.create_session(), role="user", content="at once")
        live.close()

    appending = threading.Thread(target=append)
    appending.start()
    monkeypatch.setattr(filled.store.db, "execute", execute_slowly)
    _, _, (line,) = compact(filled.store, filled.config, 1)
    appending.join()
    assert "live_messages: another program uses it" in line
    assert "store compact" in line


def test_evicting_and_restoring_work_family_by_family(
    filled: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(filled.store)
    analyzed(filled.store)
    monkeypatch.setattr(Archive, "read", outside(filled, Archive.read))
    # The fork owns nothing that the other session holds, so each of them goes and comes back alone.
    assert len(holds_of(filled.retain)) > COUNT
    assert len(filled.store.retention.evicted_sessions()) == COUNT + 1
    assert len(holds_of(filled.restore)) > COUNT
    check_same(before, contents(filled.store))
    check_sound(filled.store)


@pytest.mark.parametrize("prefix", [True, False], ids=["forks of a part", "forks of all"])
@pytest.mark.parametrize("after", [1, 3, 4])
def test_evicting_and_restoring_forks_can_be_killed_between_two_of_them(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, after: int, prefix: bool
) -> None:
    origin = talk(keeper.claude.session("origin"), "one")
    for number in range(4):
        talk(keeper.claude.fork(origin, f"fork-{number}"), f"own{number}")
    if prefix:
        talk(origin, "two")
    keeper.collect()
    before = contents(keeper.store)
    analyzed(keeper.store)
    for work in (keeper.retain, keeper.restore):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Sessions, "mark_stale", killed_after(0, Sessions.mark_stale))
            for name in ("freeze", "unfreeze"):
                killed = killed_after(after, getattr(Retention, name))
                patched.setattr(Retention, name, killed)
            work()
        assert len(keeper.store.retention.evicted_sessions()) in (after, 5 - after)
        check_sound(keeper.store)
        work()
    check_same(before, contents(keeper.store))
    check_sound(keeper.store)


def killed_after(times: int, method: Callable[..., None]) -> Callable[..., None]:
    calls = []

    def counted(*arguments: Any, **named: Any) -> None:
        calls.append(method)
        if len(calls) > times:
            raise KeyboardInterrupt
        method(*arguments, **named)

    return counted


def test_each_fork_of_many_is_evicted_and_restored_alone(keeper: Keeper) -> None:
    """They were once written in one transaction, 1.4 ms each, with all others."""
    origin = talk(keeper.claude.session("origin"), "one")
    for number in range(8):
        talk(keeper.claude.fork(origin, f"fork-{number}"), f"own{number}")
    keeper.collect()
    before = contents(keeper.store)
    analyzed(keeper.store)
    assert len(holds_of(keeper.retain)) >= 9
    assert len(holds_of(keeper.restore)) >= 9
    check_same(before, contents(keeper.store))
    check_sound(keeper.store)


def test_evicting_many_forks_looks_at_each_of_them_a_few_times(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fork was once looked at from each of the others: 20 s within one transaction."""
    origin = talk(keeper.claude.session("origin"), "one")
    for number in range(15):
        talk(keeper.claude.fork(origin, f"fork-{number}"), f"own{number}")
    keeper.collect()
    analyzed(keeper.store)
    sharing_with, asked = Sessions.sharing_with, []

    def counted(self: Sessions, session_id: int) -> list[int]:
        asked.append(session_id)
        return sharing_with(self, session_id)

    monkeypatch.setattr(Sessions, "sharing_with", counted)
    keeper.retain()
    assert len(keeper.store.retention.evicted_sessions()) == 16
    assert len(asked) <= 4 * 16
