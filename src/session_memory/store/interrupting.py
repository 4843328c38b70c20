"""Stop what a connection does, from another thread."""

from session_memory.store.address import is_postgres
from session_memory.store.database import Database


def interrupt(db: Database) -> None:
    """Stop the running statement, which then raises an error.

    A statement on a server goes on: there each thread has a connection of its own.
    """
    if not is_postgres(db.name):
        connection = getattr(db, "connection", None)
        if connection is not None:
            connection.interrupt()
