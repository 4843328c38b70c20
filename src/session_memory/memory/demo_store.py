"""Name the store of the demo sessions. They have a store of their own, beside the user's store."""

from pathlib import Path

from session_memory.config import home
from session_memory.memory.base import IN_MEMORY
from session_memory.store.address import is_postgres

_USUAL = "memory"


def demo_place(where: str) -> Path:
    """Return the file of the demo store that belongs to the store at ``where``."""
    if is_postgres(where) or where == IN_MEMORY:
        return home() / ".session-memory" / "demo.db"
    store = Path(where)
    return store.parent / ("demo.db" if store.stem == _USUAL else f"{store.stem}-demo.db")
