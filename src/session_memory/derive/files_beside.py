"""Where files that belong to a store are, and how their names begin.

Commands that print an address of the web page import this module, so it imports little.
"""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.config import home
from session_memory.store.address import is_postgres

if TYPE_CHECKING:
    from session_memory.store.store import Store


def beside(store: "Store") -> Path | None:
    """The directory for files that belong to a store; None for a store in memory."""
    if is_postgres(store.db.name):
        return home() / ".session-memory"
    return None if store.db.file is None else store.db.file.parent


def store_stem(store: "Store") -> str:
    """The beginning of the names of files that belong to a store."""
    if store.db.file is not None:
        return store.db.file.stem
    # Each schema of a server is a store, so the name is made from the address. The address may hold
    # a password, so only its hash is used.
    address = getattr(store.db, "url", store.db.name)
    return f"postgresql-{sha256(address.encode()).hexdigest()[:12]}"
