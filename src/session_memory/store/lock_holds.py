"""How long this process holds the write lock of a store. Benchmarks and tests listen to it.

A live append waits as long as another process holds the lock. That wait also depends on what else
the machine does. The CPU time between taking and releasing the lock does not.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class LockHold(NamedTuple):
    """One hold of the lock: what for, and its seconds by the clock and of CPU time."""

    what: str
    wall: float
    cpu: float


Listener = Callable[[LockHold], None]

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` after each hold within this block, in the thread that held the lock."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class HeldLock:
    """One hold of the lock that has not ended. Its time counts from the creation of this object."""

    __slots__ = ("_cpu", "began")

    def __init__(self) -> None:
        self._cpu = time.thread_time() if _listeners else 0.0
        self.began = time.monotonic()

    def released(self, what: str = "transaction") -> float:
        """Tell the listeners that the lock is free again. Returns the seconds it was held."""
        seconds = time.monotonic() - self.began
        if _listeners:
            hold = LockHold(what, seconds, time.thread_time() - self._cpu)
            for listener in _listeners:
                listener(hold)
        return seconds
