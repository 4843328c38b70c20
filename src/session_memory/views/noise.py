"""Recognize bookkeeping: events that are stored and searched, but that a reader need not see."""

from session_memory.core.schema import SessionEvent
from session_memory.derive.agents import Agent, about

# Only events of these kinds can be bookkeeping. What a person or a model said never is.
_KINDS = frozenset({"lifecycle", "completion", "decision"})
# Events that a handoff copied from another session. That session shows them.
_COPIES = frozenset({"handoff"})


def is_bookkeeping(event: SessionEvent) -> bool:
    """Whether an event is bookkeeping: its agent's adapter lists its native kind as such, or a
    handoff copied the event."""
    if event.kind not in _KINDS or event.call_id is not None:
        return False
    return is_hidden_kind(about(event.session_uid.partition(":")[0]), event.native_kind or "")


def is_hidden_kind(agent: Agent, native_kind: str) -> bool:
    """Whether the adapter lists this native kind as bookkeeping, or it is a copy by a handoff.
    ``attachment`` in the list also means ``attachment/date``."""
    return bool({native_kind, native_kind.partition("/")[0]} & (agent.hidden_kinds | _COPIES))
