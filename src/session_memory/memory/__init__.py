"""The Python API: one object that answers what the command line answers.

A `Memory` opens the store and the user's configuration as the command line does. ``to_dict()`` of
an answer is what the command for it prints with ``--json``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from session_memory.memory.aio import AsyncMemory
    from session_memory.memory.memory import Memory
    from session_memory.memory.query import SessionQuery
    from session_memory.memory.session import StoredSession

__all__ = ["AsyncMemory", "Memory", "SessionQuery", "StoredSession"]

_MODULES = {
    "AsyncMemory": "aio",
    "Memory": "memory",
    "SessionQuery": "query",
    "StoredSession": "session",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"session_memory.memory.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
