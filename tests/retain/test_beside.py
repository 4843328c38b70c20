"""Long operations beside each other: who needs the store alone gets it alone, and where somebody
came in between all the same, nothing is lost and nothing comes back."""

import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forking import start_script
from keeping import LATER, Keeper, analyzed, talk

from session_memory.collect.batches import Batches
from session_memory.collect.discover import roots
from session_memory.collect.sync import Sync, sync, sync_paths
from session_memory.collect.sync_report import ReadProgress
from session_memory.core.errors import StoreBusy
from session_memory.derive import reindex as indexing
from session_memory.derive.reindex import ensure_index, reindex
from session_memory.learn.analyze import analyze
from session_memory.learn.digests import digest_of
from session_memory.learn.session_rows import rows_of_sessions
from session_memory.live import SessionStore
from session_memory.retain import lake
from session_memory.retain.forget import forget
from session_memory.retain.lake import export as export_lake
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.retain.proof import Samples, prove
from session_memory.retain.restore import restore
from session_memory.retain.retention_run import retain
from session_memory.store import Store, open_store, operation_lock
from session_memory.store.digests import Digests
from session_memory.store.retention_archive import Archive
from session_memory.testing.collecting import (
    check_index,
    check_same,
    check_sound,
    contents,
    rebuilt,
)

ALPHA, BETA = "claude:alpha", "claude:beta"
SECRET = "xylophone-quartet-zanzibar"


@pytest.fixture
def other(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store as another process has it open; nobody waits for anybody."""
    monkeypatch.setattr(operation_lock, "BUSY_S", 0)
    with open_store(keeper.place, durability="normal") as opened:
        yield opened


def synced(keeper: Keeper, store: Store) -> None:
    sync(store, keeper.config, roots(keeper.config, (keeper.claude.path,)), host="here")


def evicted_by(keeper: Keeper, store: Store) -> int:
    return retain(store, keeper.config, LATER, lambda uids: None).report.backstop_evicted


def busy(action: Callable[[], object]) -> Callable[..., None]:
    """A hook that finds the store occupied whenever it is called."""

    def hook(*_: object) -> None:
        with pytest.raises(StoreBusy) as refused:
            action()
        assert refused.value.hint
        hook.calls += 1  # type: ignore[attr-defined]

    hook.calls = 0  # type: ignore[attr-defined]
    return hook


def calls(hook: Callable[..., None]) -> int:
    return hook.calls  # type: ignore[attr-defined, no-any-return]


# ---------------------------------------------------------------- the lock itself


def test_who_is_alone_keeps_everybody_out_and_those_who_share_only_him(
    keeper: Keeper, other: Store
) -> None:
    with keeper.store.db.operation_lock(shared=False):
        for shared in (True, False):
            with pytest.raises(StoreBusy), other.db.operation_lock(shared=shared):
                pass
    with keeper.store.db.operation_lock(shared=True):
        with other.db.operation_lock(shared=True):
            pass
        with pytest.raises(StoreBusy), other.db.operation_lock(shared=False):
            pass
    with other.db.operation_lock(shared=False):
        pass


def test_a_hold_inside_another_joins_it_but_who_shares_cannot_be_alone(
    keeper: Keeper, other: Store
) -> None:
    db = keeper.store.db
    with db.operation_lock(shared=False):
        with db.operation_lock(shared=True), db.operation_lock(shared=False):
            pass
        with pytest.raises(StoreBusy), other.db.operation_lock(shared=True):
            pass
    with (
        db.operation_lock(shared=True),
        pytest.raises(RuntimeError),
        db.operation_lock(shared=False),
    ):
        pass
    with other.db.operation_lock(shared=False):
        pass


def test_whatever_goes_wrong_lets_go(keeper: Keeper, other: Store) -> None:
    with pytest.raises(ZeroDivisionError), keeper.store.db.operation_lock(shared=False):
        raise ZeroDivisionError
    with other.db.operation_lock(shared=False):
        pass
    with keeper.store.db.operation_lock(shared=False):
        pass


_CHILD = """
import sys
from session_memory.store import open_store
with open_store(sys.argv[1]) as store, store.db.operation_lock(shared=False):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_who_is_killed_lets_go(keeper: Keeper, other: Store) -> None:
    child = start_script(_CHILD, keeper.place, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StoreBusy), other.db.operation_lock(shared=True):
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
    # A server notices a moment later that nobody is at the other end.
    with pytest.MonkeyPatch.context() as patient:
        patient.setattr(operation_lock, "BUSY_S", 30)
        with other.db.operation_lock(shared=False):
            pass


def test_its_file_holds_nothing_is_private_and_there_is_none_in_memory(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with open_store(place) as store, store.db.operation_lock(shared=True):
        lock = Path(f"{place}.lock")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
        assert lock.read_bytes() == b""
    with (
        open_store(":memory:") as one,
        open_store(":memory:") as other,
        one.db.operation_lock(shared=False),
        other.db.operation_lock(shared=False),
    ):
        pass
    assert {file.name for file in tmp_path.iterdir()} == {"memory.db", "memory.db.lock"}


def test_live_sessions_go_on_whoever_has_the_store_alone(keeper: Keeper, other: Store) -> None:
    with SessionStore.open(keeper.place) as live:
        session = live.create_session(session_id="sess_one")
        with other.db.operation_lock(shared=False):
            live.append_message(session, role="user", content="hello")
        assert [row.content for row in live.load_all_messages(session)] == ["hello"]


def test_everything_long_waits_for_who_is_alone(
    keeper: Keeper, other: Store, tmp_path: Path
) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    export_store(keeper.store, tmp_path / "out.smx")
    where = roots(keeper.config, (keeper.claude.path,))
    long = {
        "sync": lambda: synced(keeper, keeper.store),
        "watch": lambda: sync_paths(keeper.store, keeper.config, where, [], host="here"),
        "analyze": lambda: analyze(keeper.store),
        "reindex": lambda: reindex(keeper.store),
        "rebuild": lambda: rebuilt(keeper.store),
        "import": lambda: import_store(keeper.store, tmp_path / "out.smx", keeper.config),
        "retain": lambda: evicted_by(keeper, keeper.store),
        "restore": lambda: restore(keeper.store, keeper.config, None, LATER),
        "forget": lambda: forget(keeper.store, keeper.config, [ALPHA], LATER),
        "lake export": lambda: export_lake(keeper.store, tmp_path / "lake"),
    }
    with other.db.operation_lock(shared=False):
        for action in long.values():
            busy(action)()
    with other.db.operation_lock(shared=True):
        for name in ("retain", "restore", "forget", "lake export"):
            busy(long[name])()
        for name in long.keys() - {"retain", "restore", "forget", "lake export"}:
            long[name]()


def test_who_searches_meanwhile_asks_the_index_there_is(
    keeper: Keeper, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    monkeypatch.setattr(type(keeper.store.index), "is_complete", False)
    with other.db.operation_lock(shared=False):
        assert not ensure_index(keeper.store)


# ---------------------------------------------------------------- sync beside retain


def grown(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    analyzed(keeper.store)
    talk(log, "three")
    keeper.claude.write()


def test_nothing_is_evicted_while_a_sync_is_between_reading_and_writing(
    keeper: Keeper, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(keeper)
    hook, flush = busy(lambda: evicted_by(keeper, other)), Batches.flush
    monkeypatch.setattr(Batches, "flush", lambda self: (hook(), flush(self))[1])
    keeper.collect()
    assert calls(hook)
    assert evicted_by(keeper, other) == 1
    keeper.restore()
    check_sound(keeper.store)


def test_a_source_that_was_evicted_since_it_was_read_is_read_again(
    keeper: Keeper, other: Store
) -> None:
    grown(keeper)
    run = Sync(keeper.store, keeper.config, "here", ReadProgress())
    run.look_below(roots(keeper.config, (keeper.claude.path,)))
    chunks = [chunk for task in run.context.tasks for chunk in run.reading.chunks(task)]
    assert evicted_by(keeper, other) == 2
    with keeper.store.transaction():
        run.writing.write(chunks)
    assert keeper.store.raw.stored_bytes() == (0, 0)
    keeper.collect()
    keeper.restore()
    check_sound(keeper.store)
    with open_store(":memory:") as fresh:
        synced(keeper, fresh)
        check_same(contents(fresh), contents(keeper.store))


def test_a_source_whose_number_another_one_has_now_is_not_written_to(
    keeper: Keeper, other: Store
) -> None:
    talk(keeper.claude.session("alpha"), "one")
    log = talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    talk(log, "grown")
    keeper.claude.write()
    run = Sync(keeper.store, keeper.config, "here", ReadProgress())
    run.look_below(roots(keeper.config, (keeper.claude.path,)))
    forget(other, keeper.config, [BETA], LATER)
    talk(keeper.claude.session("zeta"), "two")
    keeper.claude.write()
    synced(keeper, other)
    run.read()
    assert b"grown" not in b"".join(
        p for r in other.sources.every() for p in other.raw.pieces(r.id)
    )
    check_sound(other)


# ---------------------------------------------------------------- analyze and reindex


def test_nothing_is_evicted_while_it_is_analyzed(keeper: Keeper, other: Store) -> None:
    talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    analyze(keeper.store)
    before = digest_of(keeper.store, BETA)
    hook = busy(lambda: evicted_by(keeper, other))
    analyze(keeper.store, [ALPHA, BETA], on_session=hook)
    assert calls(hook) == 2
    assert digest_of(keeper.store, BETA) == before


def test_the_digest_of_what_was_evicted_meanwhile_stays(keeper: Keeper, other: Store) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyze(keeper.store)
    waiting = Digests(keeper.store.db).readable([ALPHA])
    assert waiting
    assert evicted_by(keeper, other) == 1
    assert list(rows_of_sessions(keeper.store, waiting, "", {})) == []


def test_nothing_is_evicted_while_the_index_is_built(keeper: Keeper, other: Store) -> None:
    grown(keeper)
    hook = busy(lambda: evicted_by(keeper, other))
    reindex(keeper.store, hook)
    assert calls(hook)
    check_index(keeper.store)


def test_an_index_has_nothing_of_what_was_evicted_while_it_was_built(
    keeper: Keeper, other: Store
) -> None:
    talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    analyzed(keeper.store)
    building = indexing._IndexBuilding(keeper.store)
    for session_id, known in keeper.store.sessions.revisions().items():
        building.add(session_id, known)
    assert evicted_by(keeper, other) == 2
    talk(keeper.claude.session("gamma"), "three")
    keeper.claude.write()
    synced(keeper, other)
    if not building.finish():
        reindex(keeper.store)
    check_index(keeper.store)


# ---------------------------------------------------------------- forget


@pytest.mark.parametrize("what", ["moved", "fork", "spill", "growth"])
def test_nothing_comes_in_while_a_session_is_forgotten(
    keeper: Keeper, other: Store, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    log = talk(keeper.claude.session("alpha"), SECRET)
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    if what == "moved":
        talk(keeper.claude.keep(log.moved("-elsewhere")), "moved")
    elif what == "fork":
        talk(keeper.claude.fork(log, "forked"), "own")
    elif what == "spill":
        log.spill("out.txt", SECRET.encode() * 100)
    else:
        talk(log, "more")
    keeper.claude.write()
    hook, forgets = busy(lambda: synced(keeper, other)), lake.forget
    monkeypatch.setattr(lake, "forget", lambda *args: (hook(), forgets(*args))[1])
    assert forget(keeper.store, keeper.config, [ALPHA], LATER).proof.found == []
    assert calls(hook)
    synced(keeper, other)
    assert ALPHA not in other.sessions.uids()
    check_sound(other)


def test_nothing_is_evicted_while_it_is_forgotten(
    keeper: Keeper, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(keeper.claude.session("alpha"), SECRET)
    keeper.collect()
    analyzed(keeper.store)
    hook, forgets = busy(lambda: evicted_by(keeper, other)), lake.forget
    monkeypatch.setattr(lake, "forget", lambda *args: (hook(), forgets(*args))[1])
    assert forget(keeper.store, keeper.config, [ALPHA], LATER).proof.found == []
    assert calls(hook)
    assert Archive(keeper.archive).files() == []


def test_an_archived_source_that_the_store_has_not_is_nobody_elses(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), SECRET)
    keeper.collect()
    keeper.evict(ALPHA)
    (file,) = Archive(keeper.archive).files()
    left = file.read_bytes()
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    file.write_bytes(left)
    samples = Samples()
    samples.add_text(SECRET)
    proof = prove(keeper.store, Archive(keeper.archive), None, samples)
    assert proof.found == [str(file)]
    assert proof.held_by_others == 0


@pytest.mark.parametrize("what", ["moved", "subagent", "growth"])
def test_what_was_forgotten_since_a_sync_looked_is_not_written(
    keeper: Keeper, other: Store, what: str
) -> None:
    log = talk(keeper.claude.session("alpha"), SECRET)
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    if what == "moved":
        talk(keeper.claude.keep(log.moved("-elsewhere")), SECRET)
    elif what == "subagent":
        talk(keeper.claude.subagent(log, "sub"), SECRET)
    else:
        talk(log, SECRET)
    keeper.claude.write()
    run = Sync(keeper.store, keeper.config, "here", ReadProgress())
    run.look_below(roots(keeper.config, (keeper.claude.path,)))
    forget(other, keeper.config, [ALPHA], LATER)
    run.read()
    assert keeper.store.sessions.uids() == [BETA]
    raw = [p for row in other.sources.every() for p in other.raw.pieces(row.id)]
    assert SECRET.encode() not in b"".join(raw)
    check_sound(keeper.store)
