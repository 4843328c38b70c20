"""Killed at any moment, with no chance to say goodbye: what is left can always be gone on with."""

import signal
import subprocess
import sys
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

_CHILD = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from keeping import Keeper, LATER
from session_memory.retain.forget import forget
keeper = Keeper(Path({directory!r}), {place!r})
keeper.store
seen = 0
def count(frame, event, argument):
    global seen
    seen += event in ("call", "c_call")
    if seen == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(count)
if {what!r} == "retain":
    keeper.retain()
else:
    forget(keeper.store, keeper.config, [{uid!r}], LATER)
sys.setprofile(None)
print(seen)
"""


def run_and_kill(keeper: Keeper, directory: Path, what: str, at: int = 0) -> int:
    """Let a child do it, killed at its ``at``-th call; how many there were if it was not."""
    keeper.close()
    code = _CHILD.format(
        tests=str(Path(__file__).parent),
        directory=str(directory),
        place=keeper.place,
        what=what,
        uid=ALPHA,
        at=at,
    )
    child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert child.returncode in (0, -signal.SIGKILL)
    return int(child.stdout or 0)


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
    keeper: Keeper, tmp_path: Path, database: str
) -> None:
    filled(keeper)
    before = contents(keeper.store)
    analyzed(keeper.store)
    calls = run_and_kill(keeper, tmp_path, "retain")
    for moment in moments(calls, database):
        as_before(keeper)
        for file in Archive(keeper.archive).files():
            file.unlink()
        run_and_kill(keeper, tmp_path, "retain", moment)
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
    keeper: Keeper, tmp_path: Path, database: str, evicted: bool
) -> None:
    talk(keeper.claude.session("s0"), *(f"{SECRET} {n}" for n in range(20)))
    talk(keeper.claude.session("s1"), "plain words")

    def once(at: int = 0) -> int:
        with keeper.store.transaction():
            keeper.store.db.execute("delete from tombstones")
        keeper.collect()
        if evicted:
            keeper.evict(ALPHA)
        return run_and_kill(keeper, tmp_path, "forget", at)

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
