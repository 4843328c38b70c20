"""A flag that a signal handler may set to stop a watch.

``threading.Event`` cannot be used: the code that the signal interrupts may hold its lock.
"""

import os
import select


class StopFlag:
    """A flag that is set once. A thread that waits for it wakes up."""

    def __init__(self) -> None:
        self._is_set = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        if not self._is_set:
            self._is_set = True
            os.write(self._writer, b"\0")

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or the flag is set."""
        select.select([self._reader], [], [], seconds)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
