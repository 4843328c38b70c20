"""Bookkeeping of agents: events that are kept and searched, and that a reader need not see."""

from session_memory.core.schema import SessionEvent
from session_memory.derive.agents import Agent, about

# Kinds that bookkeeping has. What a person or a model said is never bookkeeping.
_KINDS = frozenset({"lifecycle", "completion", "decision"})
# What a handoff copied from another session. That session shows it.
_COPIES = frozenset({"handoff"})


def is_bookkeeping(event: SessionEvent) -> bool:
    """Whether the agent counts events like this among those a reader does not want to see."""
    if event.kind not in _KINDS or event.call_id is not None:
        return False
    return is_hidden_kind(about(event.session_uid.partition(":")[0]), event.native_kind or "")


def is_hidden_kind(agent: Agent, native_kind: str) -> bool:
    """Whether the agent hides this kind. ``attachment`` also hides ``attachment/date``."""
    return bool({native_kind, native_kind.partition("/")[0]} & (agent.hidden_kinds | _COPIES))
