"""Give free pages of a SQLite file back to the disk, and empty its WAL."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.core.errors import StoreBusy
from session_memory.store.lock_holds import HeldLock
from session_memory.store.pieces import run_in_pieces
from session_memory.store.sqlite_waiting import busy_until, retry_until

if TYPE_CHECKING:
    from session_memory.store.sqlite import Sqlite

INCREMENTAL = 2
"""With this setting SQLite keeps track of which page belongs where, so that it can move pages."""
# This many pages are moved in one step.
PAGES = 50
# The write lock is held at most this many milliseconds to wait for readers.
HELD_MS = 50


def shrink(db: "Sqlite") -> None:
    """Give all free pages back to the disk.

    A file from an earlier release, without `INCREMENTAL`, is first rewritten as a whole.
    """
    if db.value("pragma auto_vacuum") != INCREMENTAL:
        # The copy that SQLite makes for this may be larger than the memory.
        db.execute("pragma temp_store = file")
        try:
            rewrite(db)
        finally:
            db.execute("pragma temp_store = memory")
    run_in_pieces(db.transaction, _given_back(db))
    db.checkpoint()


def rewrite(db: "Sqlite") -> None:
    """Write the whole file anew, with each table in one piece. Others cannot write meanwhile."""
    if db.value("pragma auto_vacuum") != INCREMENTAL:
        db.execute(f"pragma auto_vacuum = {INCREMENTAL}")
    held = HeldLock()
    db.execute("vacuum")
    held.released("vacuum")
    db.checkpoint()


def checkpoint(db: "Sqlite") -> bool:
    """Move the content of the WAL file into the database. False if a reader prevented it."""
    until = busy_until()
    while True:
        # This checkpoint makes nobody wait. The one in `_emptied_wal`, which locks out writers, has
        # little left to do then.
        db.one("pragma wal_checkpoint(passive)")
        held = HeldLock()
        is_done = _emptied_wal(db)
        held.released("checkpoint")
        # SQLite does not wait for a checkpoint of another process. Every append may begin one.
        if is_done or not retry_until(until):
            return is_done


def _emptied_wal(db: "Sqlite") -> bool:
    """Empty the WAL file. False if another process reads or writes.

    SQLite waits for readers while it holds the write lock, and then all writers wait as well.
    """
    db.connection.set_busy_timeout(HELD_MS)
    try:
        row = db.one("pragma wal_checkpoint(truncate)")
    except StoreBusy:
        return False
    finally:
        db.connection.set_busy_handler(db.late_sync.retry)
    return row is None or not row[0]


def _given_back(db: "Sqlite") -> Iterator[None]:
    """Move pages from the end of the file to free ones, step by step."""
    left = None
    while (free := db.value("pragma freelist_count")) and free != left:
        left = free
        db.all(f"pragma incremental_vacuum({PAGES})")
        yield
