"""How much of a database a connection keeps in memory.

SQLite keeps the pages that it read, up to 24 MB for each connection. That is no harm in a command,
which ends soon. But a server keeps several connections for days. A server can do with fewer pages,
because the operating system caches the file as well.
"""

from session_memory.store.address import is_postgres
from session_memory.store.database import Database


def limit_pages(db: Database, kib: int) -> None:
    """Let the connection keep at most ``kib`` KiB of pages in memory from now on.

    A connection to PostgreSQL keeps no pages.
    """
    if not is_postgres(db.name):
        db.execute(f"pragma cache_size = -{kib:d}")
        release_pages(db)


def release_pages(db: Database) -> None:
    """Free the memory of the pages that were read. They are read again when they are needed."""
    if not is_postgres(db.name):
        db.execute("pragma shrink_memory")
