"""Stop what a connection does, from another thread."""

from session_memory.store.address import is_postgres
from session_memory.store.database import Database


def interrupt(db: Database) -> None:
    """Stop the running statement of a SQLite store, which then raises an error.

    For PostgreSQL this does nothing, because each thread has a connection of its own.
    """
    if not is_postgres(db.name):
        connection = getattr(db, "connection", None)
        if connection is not None:
            connection.interrupt()
