"""A test that hangs ends its process, which shows where each of its threads is.

Alone the slowest test takes 4 seconds. pytest's own `faulthandler_timeout` starts a thread for each
test and waits for its end. The thread here serves all tests that begin within half a minute. It
does not wait for Python, so it also ends a test that hangs inside a library.
"""

import faulthandler
import os
import sys
import time

from effort import EFFORT

LIMIT_S = 240.0
SERVED_S = 30.0


class HangLimit:
    """Hooks of pytest. A test may take ``limit_s``, or as much as ``served_s`` less."""

    def __init__(self, limit_s: float = LIMIT_S, served_s: float = SERVED_S) -> None:
        assert sys.__stderr__ is not None
        # While a test runs, pytest writes what comes to stderr into a file.
        self._stderr = os.dup(sys.__stderr__.fileno())
        self._limit_s, self._served_s = limit_s, served_s
        self._until = 0.0

    def pytest_runtest_logstart(self) -> None:
        now = time.monotonic()
        if now >= self._until and EFFORT <= 1:
            faulthandler.dump_traceback_later(self._limit_s, file=self._stderr, exit=True)
            self._until = now + self._served_s

    def pytest_enter_pdb(self) -> None:
        faulthandler.cancel_dump_traceback_later()

    def pytest_sessionfinish(self) -> None:
        faulthandler.cancel_dump_traceback_later()
