"""Answers do not change after they were given: what is kept or handed on stays as it was."""

from datetime import datetime, tzinfo
from enum import Enum
from pathlib import PurePath
from typing import Any

import msgspec

from session_memory import Cost, Memory, Session, SessionEvent, Usage

PLAIN = (str, int, float, bytes, datetime, tzinfo, PurePath, Enum, type(None))
# The records of the schema can be changed, and check every assignment.
RECORDS = (Cost, Session, SessionEvent, Usage)


def changeable(value: Any, path: str) -> set[str]:
    """The places of values whose fields can be set, in an answer and everything in it."""
    if isinstance(value, (*PLAIN, *RECORDS)):
        return set()
    if isinstance(value, msgspec.Struct):
        parts = {name: getattr(value, name) for name in value.__struct_fields__}
        own = set() if value.__struct_config__.frozen else {f"{path}: {type(value).__name__}"}
        return own.union(*(changeable(part, f"{path}.{name}") for name, part in parts.items()))
    if isinstance(value, dict):
        return set().union(*(changeable(part, f"{path}[{key}]") for key, part in value.items()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return set().union(*(changeable(part, f"{path}[]") for part in value))
    return {f"{path}: {type(value).__name__}"}


def test_every_answer_is_frozen() -> None:
    with Memory(":memory:") as memory:
        answers: dict[str, Any] = {
            "sync": memory.sync_demo(),
            "analyze": memory.analyze(),
            "sessions": memory.sessions().listing(),
            "search": memory.search("test"),
            "similar": memory.similar(text="harbour"),
            "fix": memory.fix("NameError: name 'x' is not defined"),
            "how": memory.how("fix the tests"),
            "cost": memory.cost("session"),
            "prices": memory.prices(),
            "budget": memory.budget(),
            "stats": memory.stats(),
            "files": memory.files(),
            "commands": memory.commands(),
            "patterns": memory.patterns(),
            "skills": memory.skills(),
            "verify": memory.verify(),
        }
        session = next(one for one in memory.sessions() if one.children)
        answers |= {
            "digest": session.digest(),
            "timeline": session.timeline(),
            "diff": session.diff(),
            "view": session.view(full=True),
            "audit": session.audit(),
            "cost_of_one": session.cost_with_subagents,
            "transcript": list(session.transcript()),
            "calls": list(session.calls()),
        }
        for name, answer in answers.items():
            assert not changeable(answer, name)
