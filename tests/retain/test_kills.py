"""Killed at any moment, with no chance to say goodbye: what is left can always be gone on with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from effort import times
from keeping import LATER, Keeper, analyzed, talk

from session_memory.core.errors import UnknownSession
from session_memory.retain.forget import forget, sweep
from session_memory.retain.verification import verify
from session_memory.store.retention_archive import Archive
from session_memory.testing.collecting import check_same, check_sound, contents
from session_memory.testing.killing import run_and_kill

SECRET = "xylophone-quartet-zanzibar"
SESSIONS = 6
ALPHA = "claude:s0"


def kill(keeper: Keeper, what: str, at: int = 0) -> int:
    """Retain or forget in a fork that is killed at its ``at``-th call. Returns the calls."""
    keeper.close()

    @contextmanager
    def prepared() -> Iterator[Callable[[], object]]:
        store = keeper.store
        if what == "retain":
            yield keeper.retain
        else:
            yield lambda: forget(store, keeper.config, [ALPHA], LATER)

    return run_and_kill(prepared, at)


def moments(calls: int, database: str) -> list[int]:
    """Some of the moments between the first call and the last."""
    some = times(4 if database == "sqlite" else 2)
    return [calls * (number + 1) // (some + 1) for number in range(some)]


def filled(keeper: Keeper) -> None:
    for number in range(SESSIONS):
        log = keeper.claude.session(f"s{number}")
        talk(log, *(f"{SECRET if not number else 'plain'} {number}.{n}" for n in range(30)))
    keeper.collect()


def as_before(keeper: Keeper) -> None:
    """Everything restored, analyzed and allowed to go again."""
    keeper.restore()
    analyzed(keeper.store)
    with keeper.store.transaction():
        for uid in keeper.store.sessions.uids():
            keeper.store.retention.unpin(uid)


@pytest.mark.kill
@pytest.mark.slow
def test_an_eviction_that_is_killed_leaves_the_raw_in_the_store_or_in_the_archive(
    keeper: Keeper, database: str
) -> None:
    filled(keeper)
    before = contents(keeper.store)
    analyzed(keeper.store)
    calls = kill(keeper, "retain")
    for moment in moments(calls, database):
        as_before(keeper)
        for file in Archive(keeper.archive).files():
            file.unlink()
        kill(keeper, "retain", moment)
        assert verify(keeper.store).findings == []
        for file in Archive(keeper.archive).files():
            assert Archive(keeper.archive).check(file) == []
        keeper.restore()
        check_same(before, contents(keeper.store))
    as_before(keeper)
    keeper.retain()
    assert keeper.store.retention.used_bytes() == 0
    assert not list(keeper.archive.glob(".*.part"))


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize("evicted", [False, True])
def test_forgetting_that_is_killed_is_finished_by_doing_it_again(
    keeper: Keeper, database: str, evicted: bool
) -> None:
    talk(keeper.claude.session("s0"), *(f"{SECRET} {n}" for n in range(20)))
    talk(keeper.claude.session("s1"), "plain words")

    def once(at: int = 0) -> int:
        with keeper.store.transaction():
            keeper.store.db.execute("delete from tombstones")
        keeper.collect()
        if evicted:
            keeper.evict(ALPHA)
        return kill(keeper, "forget", at)

    calls = once()
    for moment in moments(calls, database):
        once(moment)
        check_sound(keeper.store)
        try:
            forget(keeper.store, keeper.config, [ALPHA], LATER)
        except UnknownSession:
            sweep(keeper.store)
        assert keeper.store.sessions.uids() == ["claude:s1"]
        keeper.close()
        places = [keeper.archive, Path(keeper.place).parent]
        for file in (f for place in places if place.is_dir() for f in place.rglob("*")):
            assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
