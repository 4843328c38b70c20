"""Operations that are acknowledged together, after one sync of the disk."""

from session_memory.store.database import Database


class Batch:
    """The operations of one thread since the last sync."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.postponed = 0
        db.crowd()

    def postpone(self) -> None:
        """Count an operation that was committed, but may not be on the disk yet."""
        self.postponed += 1

    def sync(self) -> None:
        """Wait until all of them are on the disk."""
        if self.postponed:
            self._db.sync()
