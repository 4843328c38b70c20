"""Live: the session store for agent runtimes, and the skill log."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from session_memory.live.aio import AsyncSessionStore
    from session_memory.live.rows import (
        MAX_SPAWN_DEPTH,
        CompactionRow,
        Lease,
        MessageRow,
        MessageState,
        PendingCall,
        ResumePlan,
        SessionKind,
        SessionRow,
        SessionStateRow,
        SessionStatus,
        SubagentLifecycle,
        UsageRow,
    )
    from session_memory.live.store import SessionStore

__all__ = [
    "MAX_SPAWN_DEPTH",
    "AsyncSessionStore",
    "CompactionRow",
    "Lease",
    "MessageRow",
    "MessageState",
    "PendingCall",
    "ResumePlan",
    "SessionKind",
    "SessionRow",
    "SessionStateRow",
    "SessionStatus",
    "SessionStore",
    "SubagentLifecycle",
    "UsageRow",
]

_ELSEWHERE = {"AsyncSessionStore": "aio", "SessionStore": "store"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _ELSEWHERE.get(name, "rows")
    value = getattr(import_module(f"session_memory.live.{module}"), name)
    globals()[name] = value
    return value
