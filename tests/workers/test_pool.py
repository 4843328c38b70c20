"""A pool of processes answers in order, whatever happens to a process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory.workers import pool as pools
from session_memory.workers.pool import OrderReturned, Pool, WorkerDied

TARGET = "worker_targets:counter"
Order = tuple[str, int]


def rest(order: Order, last: int) -> Order | None:
    """The order for what comes after ``last``; the worker counts from 0 again."""
    return (order[0], order[1] - last - 1) if last < order[1] - 1 else ("whole", 0)


def pool(place: Path, *orders: Order, jobs: int = 1, target: str = TARGET) -> Pool:
    return Pool(target, place, dict(enumerate(orders)), jobs, rest)


def taken(running: Pool, number: int) -> list[Any]:
    answers = running.take(number, wait=True)
    assert answers is not None
    return list(answers)


def test_answers_come_in_order_from_several_processes(tmp_path: Path) -> None:
    with pool(tmp_path, *(("whole", count) for count in range(9)), jobs=2) as running:
        assert [taken(running, n) for n in range(9)] == [list(range(n)) for n in range(9)]


def test_more_answers_than_may_wait_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MOST_WAITING", 10)
    with pool(tmp_path, ("whole", 500), ("whole", 500)) as running:
        assert taken(running, 0) == taken(running, 1) == list(range(500))


def test_a_process_that_dies_is_replaced_and_its_order_goes_on(tmp_path: Path) -> None:
    with pool(tmp_path, ("dies once", 3), ("whole", 2)) as running:
        assert taken(running, 0) == [0, 1, 2]
        assert taken(running, 1) == [0, 1]


def test_an_order_that_kills_each_process_is_given_up(tmp_path: Path) -> None:
    with pool(tmp_path, ("dies", 0), ("raises", 0), ("whole", 2)) as running:
        with pytest.raises(WorkerDied, match="signal 6"):
            taken(running, 0)
        with pytest.raises(OrderReturned):
            taken(running, 1)
        assert taken(running, 2) == [0, 1]


def test_orders_come_back_if_no_process_can_start(tmp_path: Path) -> None:
    with pool(tmp_path, ("whole", 2), target="worker_targets:broken") as running:
        assert running.take(0, wait=True) is None


def test_closing_ends_a_process_that_hangs(tmp_path: Path) -> None:
    with pool(tmp_path, ("hangs", 0)):
        process = hanging_process(tmp_path, is_up)
    assert is_gone(process)


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; import time; from pathlib import Path;"
        " from test_pool import pool\n"
        f"with pool(Path({str(tmp_path)!r}), ('hangs', 0)): time.sleep(60)"
    )
    # Without a standard input, and with Ctrl-C ignored, as in the background.
    command = ["sh", "-c", 'trap "" INT; exec "$0" -c "$1" <&-', sys.executable, program]
    with subprocess.Popen(command) as parent:
        process = hanging_process(tmp_path, is_up)
        parent.kill()
    hanging_process(tmp_path, is_gone)
    assert is_gone(process)


def hanging_process(place: Path, is_so: Callable[[int], bool]) -> int:
    """The id of the process that hangs, once ``is_so``."""
    for _ in range(2000):
        text = (place / "hangs").read_text() if (place / "hangs").exists() else ""
        if text and is_so(int(text)):
            return int(text)
        time.sleep(0.01)
    raise AssertionError("it takes too long")


def is_up(process: int) -> bool:
    return not is_gone(process)


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z"
