"""Session Memory: collect the sessions of coding agents completely, and ask questions about them.

The public names are defined in subpackages and imported on first use. So ``import session_memory``
takes almost no time, and the command line starts fast.
"""

# Importing ``typing`` would take longer than this whole module. Type checkers treat the name
# TYPE_CHECKING as true wherever it is defined.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from session_memory.core.errors import SessionMemoryError
    from session_memory.core.schema import Attempt, Cost, Entry, Session, SessionEvent, Usage
    from session_memory.live import AsyncSessionStore, SessionStore
    from session_memory.memory import AsyncMemory, Memory, SessionQuery, StoredSession
    from session_memory.store import open_store

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "AsyncSessionStore",
    "Attempt",
    "Cost",
    "Entry",
    "Memory",
    "Session",
    "SessionEvent",
    "SessionMemoryError",
    "SessionQuery",
    "SessionStore",
    "StoredSession",
    "Usage",
    "__version__",
    "open_store",
]

_ROOMS = {
    "AsyncMemory": "session_memory.memory",
    "AsyncSessionStore": "session_memory.live",
    "Attempt": "session_memory.core.schema",
    "Cost": "session_memory.core.schema",
    "Entry": "session_memory.core.schema",
    "Memory": "session_memory.memory",
    "Session": "session_memory.core.schema",
    "SessionEvent": "session_memory.core.schema",
    "SessionMemoryError": "session_memory.core.errors",
    "SessionQuery": "session_memory.memory",
    "SessionStore": "session_memory.live",
    "StoredSession": "session_memory.memory",
    "Usage": "session_memory.core.schema",
    "open_store": "session_memory.store",
}


def __getattr__(name: str) -> "Any":
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
