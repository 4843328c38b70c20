"""Check the declarations of an adapter when it is loaded.

A wrong declaration makes only this adapter unusable. Without the check, the adapter could fail
later, in a command that is about another agent.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from session_memory.adapters.agent import Agent, HandoffTarget
from session_memory.core.ids import check_flavor
from session_memory.core.text import short_repr

# The largest number that SQLite and PostgreSQL can both hold in the column of versions.
LARGEST_VERSION = 2**31 - 1
_FUNCTIONS = (
    *("roots", "discover", "recognizes", "read", "directory_fits", "keeps_days"),
    *("copies_are_resumes", "changes_asked", "changes_noted", "readable", "outside"),
)
_FUNCTIONS_OR_NONE = ("dump", "rows", "log_at", "history", "histories", "settings", "texts")
_TUPLES = ("directories", "in_repositories", "worktrees", "resume_command", "instruction_files")
_SETS = ("bookkeeping", "decision_tools", "plan_tools", "hidden_kinds")


def checked_agent(flavor: str, loaded: Any) -> Agent:
    """Return the agent that an adapter exports. Raises TypeError or ValueError if it is wrong.

    ``loaded`` is the adapter's module or its ``Agent``. A list or a set of texts is accepted where
    `Agent` asks for a tuple or a frozenset.
    """
    found = loaded if isinstance(loaded, Agent) else getattr(loaded, "AGENT", None)
    if not isinstance(found, Agent):
        raise TypeError("it exports no AGENT; see docs/adding-an-adapter.md")
    check_flavor("flavor", found.flavor)
    if found.flavor != flavor:
        raise ValueError(f"it is registered as {flavor} and calls itself {found.flavor}")
    _check_version(found.version)
    for name in (*_FUNCTIONS, *_FUNCTIONS_OR_NONE):
        value = getattr(found, name)
        if not callable(value) and (value is not None or name in _FUNCTIONS):
            raise TypeError(f"{name} is {short_repr(value)}, not a function")
    for name in ("model_prefix", "problem", "reason_follows", "resumable_ids", "usage_note"):
        _check_text(name, getattr(found, name))
    if found.provider is not None:
        _check_text("provider", found.provider)
    if found.problem:
        raise ValueError(f"it reports a problem: {found.problem}")
    for name in ("has_statusline", "resumes_without_id"):
        if not isinstance(getattr(found, name), bool):
            raise TypeError(f"{name} is {short_repr(getattr(found, name))}, not a bool")
    if found.handoff is not None and not isinstance(found.handoff, HandoffTarget):
        raise TypeError(f"handoff is {short_repr(found.handoff)}, not a HandoffTarget")
    _check_pattern("preamble", found.preamble)
    changes: dict[str, Any] = {name: tuple(_texts(found, name)) for name in _TUPLES}
    changes |= {name: frozenset(_texts(found, name)) for name in _SETS}
    return msgspec.structs.replace(found, **changes)


def _check_version(version: object) -> None:
    if not isinstance(version, int) or isinstance(version, bool):
        raise TypeError(f"version is {short_repr(version)}, not a whole number")
    if not 1 <= version <= LARGEST_VERSION:
        raise ValueError(f"version is {short_repr(version)}, not 1 to {LARGEST_VERSION:,}")


def _check_pattern(name: str, pattern: Any) -> None:
    if pattern is None or (isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)):
        return
    raise TypeError(f"{name} is {short_repr(pattern)}, not a pattern of texts")


def _texts(agent: Agent, name: str) -> Iterable[str]:
    values = getattr(agent, name)
    if not isinstance(values, (tuple, list, set, frozenset)):
        raise TypeError(f"{name} is {short_repr(values)}, not several texts")
    for value in values:
        _check_text(name, value)
        if not value:
            raise ValueError(f"{name} contains an empty text")
        yield value


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} has {short_repr(value)}, which is not a text")
    if not value.isprintable():
        raise ValueError(f"{name} has {short_repr(value)}, which has invisible characters")
