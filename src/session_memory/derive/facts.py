"""What logs and documents say about a session as a whole, each speaker kept apart."""

import json
from typing import Any

from session_memory.core.ids import make_uid
from session_memory.store.sessions import SessionRow


def facts_of(row: SessionRow) -> dict[str, Any]:
    """What documents and the log itself say about a session, the documents' word first.

    Each speaks for itself, in its newest version; where two say different things, always the same
    one wins, whichever was found first.
    """
    if row.facts == "{}":
        return {}
    told: dict[str, Any] = {}
    for _, facts in sorted(json.loads(row.facts).items()):
        told.update(facts)
    return told


def note_facts(row: SessionRow, speaker: str, told: dict[str, Any]) -> None:
    known = {} if row.facts == "{}" else json.loads(row.facts)
    if known.get(speaker, {}).get("generation", 0) <= told.get("generation", 0):
        known[speaker] = told
        row.facts = json.dumps(known, sort_keys=True)


def is_told(row: SessionRow) -> bool:
    """Whether logs or documents say where it came from; what we inferred must not prove itself."""
    return row.relation == "subagent" or "relation" in facts_of(row)


def told_parent(row: SessionRow) -> str | None:
    return row.parent_uid if is_told(row) else None


def base_of(row: SessionRow) -> tuple[str, int] | None:
    """The session whose history this one begins with without repeating it, and up to where."""
    base = facts_of(row).get("base") if row.relation == "fork" else None
    return None if base is None else (make_uid(row.flavor, base[0]), base[1])
