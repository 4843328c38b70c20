"""Values that depend on nothing but the store, kept until somebody writes to it."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

MOST = 100
Value = TypeVar("Value")


class KeptValues:
    """Small values by name, each with the state of the store (``mark``) that it was made for."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Hashable, Any]] = {}
        self._lock = Lock()

    def get(self, name: Hashable, mark: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value; call ``make`` if there is none, or one of another state."""
        with self._lock:
            known = self._kept.get(name)
        if known is not None and known[0] == mark:
            value: Value = known[1]
            return value
        value = make()
        with self._lock:
            if len(self._kept) >= MOST:
                self._kept.clear()
            self._kept[name] = (mark, value)
        return value
