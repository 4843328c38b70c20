"""Session Memory: every coding-agent session, kept whole.

The public names live in their rooms and are imported on first use: ``import session_memory``
costs next to nothing, and so the command line starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from session_memory.core.errors import SessionMemoryError
    from session_memory.core.schema import Attempt, Cost, Entry, Session, SessionEvent, Usage
    from session_memory.store import open_store

__version__ = "0.1.0"

__all__ = [
    "Attempt",
    "Cost",
    "Entry",
    "Session",
    "SessionEvent",
    "SessionMemoryError",
    "Usage",
    "__version__",
    "open_store",
]

_ROOMS = {
    "Attempt": "session_memory.core.schema",
    "Cost": "session_memory.core.schema",
    "Entry": "session_memory.core.schema",
    "Session": "session_memory.core.schema",
    "SessionEvent": "session_memory.core.schema",
    "SessionMemoryError": "session_memory.core.errors",
    "Usage": "session_memory.core.schema",
    "open_store": "session_memory.store",
}


def __getattr__(name: str) -> Any:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
