"""`Memory`: the store with everything that can be asked of it and done with it."""

from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.memory.base import IN_MEMORY
from session_memory.memory.figures import FigureMethods
from session_memory.memory.finding import FindingMethods
from session_memory.memory.learned import LearnedMethods
from session_memory.memory.operations import Operations

if TYPE_CHECKING:
    from session_memory.config import Config
    from session_memory.live import AsyncSessionStore, SessionStore


class Memory(FindingMethods, FigureMethods, LearnedMethods, Operations):
    """An open store with the user's configuration, as the command line opens them.

    ``store`` is a path, a ``postgresql://`` address or ``":memory:"``; without it
    ``SESSION_MEMORY_STORE`` decides, then the configuration, then the default place. ``config``
    is a `Config` or the path of a file; without it ``SESSION_MEMORY_CONFIG`` decides, then the
    default place. A store that does not exist is created, unless ``create`` is false.

    A memory is for one thread at a time. Open one in each thread, or use `AsyncMemory`. Its
    ``live`` store may be used by many threads.
    """

    _live: "SessionStore | None" = None
    _live_async: "tuple[AsyncSessionStore, SessionStore] | None" = None

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        config: "Config | str | Path | None" = None,
        *,
        create: bool = True,
        durability: str = "full",
    ) -> "Memory":
        """Open a memory. It is the same as calling the class."""
        return cls(store, config, create=create, durability=durability)

    @property
    def live(self) -> "SessionStore":
        """The live sessions of this store: the sessions that agent runtimes keep in it."""
        self._refuse_closed()
        if self._live is None:
            self._live = self._open_live()
        return self._live

    @property
    def live_async(self) -> "AsyncSessionStore":
        """An `AsyncSessionStore` over the same database: ``live`` for asyncio."""
        self._refuse_closed()
        from session_memory.live import AsyncSessionStore

        if self._live_async is None:
            self._refuse_in_memory("be used from another thread")
            opened = self._open_live()
            self._live_async = AsyncSessionStore(opened), opened
        return self._live_async[0]

    def _open_live(self) -> "SessionStore":
        from session_memory.live import SessionStore

        if self._place == IN_MEMORY:
            # Another connection would be another, empty store.
            return SessionStore(self.store.db)
        return SessionStore.open(self._place, durability=self._durability)

    def close(self) -> None:
        """Close the store and the live stores that were opened from here.

        A `follow` that runs ends after its present step. Every later use of what this memory
        returned raises `StoreClosed`, unless it needs nothing from the store.
        """
        for follow in tuple(self._follows):
            follow.stop()
        if self._live is not None:
            self._live.close()
        if self._live_async is not None:
            self._live_async[1].close()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<memory {self.place}>"
