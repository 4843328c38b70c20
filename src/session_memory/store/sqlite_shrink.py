"""Give free pages of a SQLite file back to the disk, without rewriting the file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.store.pieces import run_in_pieces

if TYPE_CHECKING:
    from session_memory.store.sqlite import Sqlite

INCREMENTAL = 2
"""With this setting SQLite keeps track of which page belongs where, so that it can move pages."""
# So many pages are moved in one step.
PAGES = 50


def shrink(db: "Sqlite") -> None:
    """Give all free pages back. A file of an earlier version is rewritten once, as a whole."""
    if db.value("pragma auto_vacuum") != INCREMENTAL:
        # The copy that SQLite makes for this may be larger than the memory.
        db.execute("pragma temp_store = file")
        try:
            db.vacuum()
        finally:
            db.execute("pragma temp_store = memory")
    run_in_pieces(db.transaction, _given_back(db))
    db.checkpoint()


def _given_back(db: "Sqlite") -> Iterator[None]:
    """Move pages from the end of the file to free ones, step by step."""
    left = None
    while (free := db.value("pragma freelist_count")) and free != left:
        left = free
        db.all(f"pragma incremental_vacuum({PAGES})")
        yield
