"""Give free pages of a SQLite file back to the disk, without rewriting the file each time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session_memory.store.sqlite import Sqlite

INCREMENTAL = 2
# So many pages are moved at a time, so live appends wait only for a moment.
PAGES = 1000


def give_free_pages_back(db: "Sqlite") -> None:
    """The first call rewrites the whole file, so that SQLite keeps track of which page belongs
    where. Every later call moves only as many pages as are free."""
    if db.value("pragma auto_vacuum") != INCREMENTAL:
        # The copy that SQLite makes for this may be larger than the memory.
        db.execute("pragma temp_store = file")
        try:
            db.execute(f"pragma auto_vacuum = {INCREMENTAL}")
            db.execute("vacuum")
        finally:
            db.execute("pragma temp_store = memory")
    left = None
    while (free := db.value("pragma freelist_count")) and free != left:
        left = free
        db.all(f"pragma incremental_vacuum({PAGES})")
    db.checkpoint()
