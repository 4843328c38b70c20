"""The skill log on a disk that breaks: the power fails, calls fail, the writer is killed in one."""

import errno
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.schema import Entry
from session_memory.live.skill_log import SkillLog

from .disk import FROM_THEN_ON, HALF_A_WRITE, ONCE, Disk, NoCompiler, changes, compiled, under
from .processes import PATIENCE_S, environment

LOGS = Path("new") / "place"
TIME = "2026-07-01T10:00:00Z"
APPENDS = int(os.environ.get("SESSION_MEMORY_TEST_CUTS", "20"))

PRELUDE = """
import json, os, sys
from pathlib import Path
from live.disk import KILL, Control
from session_memory.core.errors import StoreError
from session_memory.core.schema import Entry
from session_memory.live.skill_log import SkillLog

disk, root = Control(), Path(sys.argv[1])

def entry(number, session="s"):
    return Entry(session, "2026-07-01T10:00:00Z", input=[number, "x" * 700 * (number % 4)])
"""
APPENDING = """
log = SkillLog(root)
for number in range(int(sys.argv[2])):
    log.append(entry(number, "s" if number % 3 else "t"))
    disk.mark(number + 1)
"""
FAILING = """
number, manner, told = int(sys.argv[2]), int(sys.argv[3]), []
for call in range(1, 100):
    log = SkillLog(root / f"{call}")
    if call % 2:
        log.append(entry(0))
    disk.arm(call, number, manner)
    try:
        log.append(entry(1))
        refused = ""
    except StoreError as error:
        refused = error.kind
    disk.disarm()
    told.append([call, disk.failed, refused])
    log.append(entry(2))
    if not disk.failed:
        break
print(json.dumps(told))
"""
KILLED = """
told = []
for call in range(1, 100):
    log = SkillLog(root / f"{call}")
    if call % 2:
        log.append(entry(0))
    child = os.fork()
    if not child:
        disk.arm(call, 0, KILL)
        log.append(entry(1))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told.append([call, status])
    log.append(entry(2))
    if not status:
        break
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return compiled(tmp_path_factory.mktemp("disk"))
    except NoCompiler as missing:
        pytest.skip(f"NO BROKEN DISK IS TESTED: {missing}")


def run(script: str, library: Path, root: Path, *words: object, journal: Path | None = None) -> str:
    root.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, str(root / LOGS), *map(str, words)],
        env=environment(**under(library, root, journal)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(log: SkillLog, session: str = "s") -> list[int]:
    return [found.input[0] for found in log.read(session)]


def check_left(place: Path, acknowledged: int) -> None:
    """All that was acknowledged is there, at most one more, and the log goes on."""
    log = SkillLog(place / LOGS)
    there = sorted(numbers(log, "s") + numbers(log, "t"))
    assert there in (list(range(acknowledged)), list(range(acknowledged + 1)))
    for session in ("s", "t"):
        log.append(Entry(session, TIME, input=[-1]))
        assert numbers(log, session)[-1] == -1
    assert sorted(numbers(log, "s") + numbers(log, "t")) == [-1, -1, *there]


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.97])
def test_whenever_the_power_fails_every_acknowledged_entry_is_there(
    library: Path, tmp_path: Path, kept: float
) -> None:
    root, journal = tmp_path / "disk", tmp_path / "journal"
    run(APPENDING, library, root, APPENDS, journal=journal)
    disk, chance = Disk(root), random.Random(kept)
    for number, change in enumerate(changes(journal)):
        disk.take(change)
        place = tmp_path / "cuts" / str(number)
        disk.cut(place, chance, kept)
        check_left(place, disk.acknowledged)
    assert disk.acknowledged == APPENDS


def check_each(root: Path, expected: list[list[Any]]) -> None:
    """What came before and after is there; the one in between only where it was acknowledged,
    or else perhaps."""
    for call, _, refused in expected:
        found = numbers(SkillLog(root / LOGS / str(call)))
        before = [0] if call % 2 else []
        assert found == [*before, 1, 2] or (refused and found == [*before, 2]), (call, found)


@pytest.mark.parametrize("manner", [ONCE, FROM_THEN_ON, HALF_A_WRITE])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_whichever_call_fails_the_error_is_clear_and_nothing_else_is_lost(
    library: Path, tmp_path: Path, manner: int, number: int
) -> None:
    output = json.loads(run(FAILING, library, tmp_path / "disk", number, manner))
    check_each(tmp_path / "disk", output)
    assert len(output) > 4 and output[-1][1:] == ["", ""], output
    kinds = {refused for _, failed, refused in output if failed}
    # Whoever writes only half of an entry has no room for the rest, as far as anybody can tell.
    half = {"store_full"} if manner == HALF_A_WRITE else set()
    assert kinds == {"store_full" if number == errno.ENOSPC else "store_error"} | half


def test_whichever_call_the_writer_dies_in_nothing_else_is_lost(
    library: Path, tmp_path: Path
) -> None:
    output = json.loads(run(KILLED, library, tmp_path / "disk"))
    assert len(output) > 4 and output[-1][1] == 0
    check_each(tmp_path / "disk", [[call, "", status] for call, status in output])
