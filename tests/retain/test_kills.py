"""Killed at any moment, with no chance to say goodbye: what is left can always be gone on with."""

import os
import signal
import sys
import traceback
import warnings
from pathlib import Path

import pytest
from keeping import LATER, Keeper, analyzed, talk

from session_memory.core.errors import UnknownSession
from session_memory.retain.forget import forget, sweep
from session_memory.retain.verification import verify
from session_memory.store.retention_archive import Archive
from session_memory.testing.collecting import check_same, check_sound, contents

SECRET = "xylophone-quartet-zanzibar"
SESSIONS = 6
ALPHA = "claude:s0"


def run_and_kill(keeper: Keeper, what: str, at: int = 0) -> int:
    """Do it in a fork of this process, which is killed at its ``at``-th call of a function.

    Returns the number of calls if it was not killed, else 0.
    """
    keeper.close()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside the threads of pytest-xdist.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(_count_calls(keeper, what, at)).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answer:
        calls = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return int(calls or 0)


def _count_calls(keeper: Keeper, what: str, at: int) -> int:
    store = keeper.store
    seen = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    if what == "retain":
        keeper.retain()
    else:
        forget(store, keeper.config, [ALPHA], LATER)
    sys.setprofile(None)
    return seen


def moments(calls: int, database: str) -> list[int]:
    """Some of the moments between the first call and the last."""
    some = 9 if database == "sqlite" else 3
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
    calls = run_and_kill(keeper, "retain")
    for moment in moments(calls, database):
        as_before(keeper)
        for file in Archive(keeper.archive).files():
            file.unlink()
        run_and_kill(keeper, "retain", moment)
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
        return run_and_kill(keeper, "forget", at)

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
