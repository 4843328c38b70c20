"""The store: raw packs, events, usage, sources and problems in SQLite or PostgreSQL.

Each module holds one table or operation together with its SQL.
"""

from session_memory.store.store import Store, open_store

__all__ = ["Store", "open_store"]
