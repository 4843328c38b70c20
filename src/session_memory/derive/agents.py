"""Facts about agents, for packages that must not import an adapter (see ``tests/test_layers.py``).

A store may hold sessions of an agent whose adapter is not installed. Every function here has an
answer for such an agent too, and ``about(flavor).problem`` says that the adapter is missing.
"""

from typing import Any

from session_memory.adapters.agent import Agent
from session_memory.adapters.guarded import noted_failures
from session_memory.adapters.registry import agent_or_substitute as about
from session_memory.adapters.registry import (
    agents,
    all_instruction_files,
    broken_adapters,
    declaring,
    flavors,
    instruction_files,
    model_prefixes,
    own_directories,
    worktree_places,
)
from session_memory.core.changes import Change
from session_memory.core.ids import split_uid

__all__ = [
    "Agent",
    "about",
    "agents",
    "broken_adapters",
    "changes_asked",
    "changes_noted",
    "flavors",
    "handoff_targets",
    "instruction_files",
    "noted_failures",
    "own_directories",
    "reads_instructions",
    "short_model",
    "statusline_flavor",
    "worktree_places",
]


def changes_asked(
    session_uid: str, arguments: Any, text: str = "", path: str | None = None
) -> list[Change]:
    """The changes to files that a call of this session asks for."""
    return about(split_uid(session_uid)[0]).changes_asked(arguments, text, path)


def changes_noted(session_uid: str, record: Any) -> list[Change]:
    """The changes to files that the record of a result in this session reports."""
    return about(split_uid(session_uid)[0]).changes_noted(record)


def reads_instructions(name: str, flavor: str) -> bool:
    """Whether an agent reads an instruction file of this name.

    A name that no agent declares counts as read by all.
    """
    own = {file.lower() for file in about(flavor).instruction_files}
    return name.lower() in own or name.lower() not in all_instruction_files()


def short_model(model: str) -> str:
    """A short name of a model: without its prefix (``claude-``) and its release date."""
    for prefix in model_prefixes():
        model = model.removeprefix(prefix)
    words = model.split("-")
    is_dated = len(words) > 1 and len(words[-1]) == len("20260701")
    return "-".join(words[:-1] if is_dated else words)


def handoff_targets() -> list[str]:
    """The agents that can continue a session of another agent."""
    return [one.flavor for one in agents() if one.handoff is not None]


def statusline_flavor() -> str:
    """The first agent that can run a program for its status line; empty if no agent can."""
    return next((one.flavor for one in declaring("has_statusline")), "")
