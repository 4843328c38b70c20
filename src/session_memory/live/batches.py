"""Group operations, so that one sync of the disk acknowledges all of them."""

from session_memory.store.database import Database


class Batch:
    """Operations of one thread that share one sync of the disk."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.postponed = 0
        db.crowd()

    def postpone(self) -> None:
        """Count an operation that was committed, but may not be on the disk yet."""
        self.postponed += 1

    def sync(self) -> None:
        """Wait until all operations of the batch are on the disk."""
        if self.postponed:
            self._db.sync()
