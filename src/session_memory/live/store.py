"""The session store for agent runtimes: an append-only tree of messages with a head.

Every operation is one transaction. When it returns, it is on disk; a killed process leaves no
partial operation. Nothing is overwritten, so a rewind, a fold and a close can be undone. Here, rows
are deleted only by `erase_session`, and by a close in a store that was opened with
``closing="erase"``. Outside of this room, retention may evict closed sessions to the archive, and
``forget`` deletes sessions.
"""

from pathlib import Path

from session_memory.config import default_store
from session_memory.core.time import now_ms
from session_memory.live.compaction import should_compact
from session_memory.live.connection import place_of
from session_memory.live.erasing import HIDE, EraseOperations, checked_closing
from session_memory.live.folds import FoldOperations
from session_memory.live.fork import ForkOperations
from session_memory.live.head import HeadOperations
from session_memory.live.leases import LeaseOperations
from session_memory.live.pending import PendingOperations
from session_memory.live.subscribe import FollowOperations
from session_memory.live.usage import UsageOperations
from session_memory.store.database import connect
from session_memory.store.migrations import migrate


class SessionStore(
    EraseOperations,
    HeadOperations,
    ForkOperations,
    FoldOperations,
    PendingOperations,
    FollowOperations,
    LeaseOperations,
    UsageOperations,
):
    """The live sessions in one database, SQLite or PostgreSQL.

    Safe for many threads and processes.
    """

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, durability: str = "full", closing: str = HIDE
    ) -> "SessionStore":
        """Open the store at a path or a ``postgresql://`` address. Create it if it is missing.

        The default is the store of the command line: the one in ``SESSION_MEMORY_STORE``, else
        in the configuration, else in the home directory.

        With ``durability="full"``, every operation that returned survives a power cut. With
        ``"normal"``, a power cut may lose the last operations; a killed process loses nothing.

        With ``closing="erase"``, `close_session` and `finish_subagent` erase sessions for good, as
        `erase_session` does. By default they hide them.
        """
        how = checked_closing(closing)
        where = path if path is not None else default_store()
        db = connect(place_of(where), durability=durability)
        try:
            migrate(db, now_ms())
        except BaseException:
            db.close()
            raise
        store = cls(db)
        store.closing = how
        return store

    @property
    def path(self) -> str:
        return self._db.name

    should_compact = staticmethod(should_compact)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> "SessionStore":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
