"""Kill work at a chosen moment: in a fork of this process, at its n-th function call."""

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
    """Run a function in a forked process, and kill the process at its function call number ``at``.

    If ``at`` is 0, the process is not killed. ``prepared`` returns a context manager that gives the
    function; the calls of the context manager are not counted. Return the number of function
    calls, or 0 if the process was killed.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer versions of Python warn of a fork in a process with threads, as pytest-xdist has.
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
