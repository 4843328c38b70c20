"""A store that a watch keeps open, and opens again if its file was deleted or replaced."""

import os
from collections.abc import Callable
from pathlib import Path

from session_memory.collect.directory_changes import identity
from session_memory.store.store import Store


class KeptStore:
    """A store that stays open. `get` opens it again if `was_lost` found it deleted or replaced.

    ``own_files``: the text with which the paths of all of the store's own files begin.
    """

    def __init__(self, opening: Callable[[], Store]) -> None:
        self._opening = opening
        self._store: Store | None = None
        self._identity: tuple[int, int] | None = None
        self.own_files = os.devnull

    def get(self) -> Store:
        if self._store is None:
            self._store = self._opening()
            place = Path(self._store.db.name)
            self._identity = identity(place)
            # A server's address is used as it is: no path begins like that.
            self.own_files = str(place.absolute()) if self._identity else self._store.db.name
        return self._store

    def was_lost(self) -> bool:
        """Whether the store must be opened: it is closed, or its file was deleted or replaced."""
        if self._store is not None and identity(Path(self.own_files)) != self._identity:
            self.close()
        return self._store is None

    def close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> "KeptStore":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
