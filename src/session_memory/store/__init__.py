"""The store: stored logs, events, usage, sources and problems in SQLite or PostgreSQL.

Each module holds one table or operation together with its SQL.
"""

from session_memory.core.late_names import late_names

TYPE_CHECKING = False  # As in `late_names`.
if TYPE_CHECKING:
    from session_memory.store.store import (
        Store,
        open_store,
    )

__all__ = [
    "Store",
    "open_store",
]

__getattr__ = late_names(__name__, dict.fromkeys(__all__, "store"))
