"""Killing work at a chosen moment: in a fork of this process, at the n-th call of a function."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager


def run_and_kill(
    prepared: Callable[[], AbstractContextManager[Callable[[], object]]], at: int = 0
) -> int:
    """Do the work in a fork that is killed at its ``at``-th call. 0 means: it is not killed.

    ``prepared`` opens what the work needs, in the fork; those calls are not counted. Returns the
    number of calls, or 0 if the fork was killed.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside the threads of pytest-xdist.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            with prepared() as work:
                calls = _count_calls(work, at)
            os.write(writing, str(calls).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answer:
        calls = int(answer.read() or 0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), f"the fork ended with {status}"
    return calls


def _count_calls(work: Callable[[], object], at: int) -> int:
    seen = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    work()
    sys.setprofile(None)
    return seen
