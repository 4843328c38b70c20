"""Let only one thread at a time make the same thing; other threads that need it wait."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock


class OneAtATime:
    """While one thread is inside ``of(what)``, other threads with the same ``what`` wait."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[Lock, int]] = {}
        self._lock = Lock()

    @contextmanager
    def of(self, what: Hashable) -> Iterator[None]:
        with self._lock:
            lock, waiting = self._locks.get(what, (Lock(), 0))
            self._locks[what] = (lock, waiting + 1)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._locks.pop(what)
                if waiting > 1:
                    self._locks[what] = (lock, waiting - 1)
