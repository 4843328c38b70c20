"""Facts about a whole session, as logs and documents state them.

A document is a small file beside the log, such as the ``.meta.json`` of a subagent. A *writer* is
what states facts: a document, or the logs. The facts of each writer are stored separately.
"""

import json
from collections.abc import Iterable
from typing import Any

from session_memory.adapters.base import Record
from session_memory.adapters.reported_costs import SESSION_COSTS as SESSION_COSTS
from session_memory.adapters.reported_costs import TREE_COSTS as TREE_COSTS
from session_memory.core.ids import make_uid
from session_memory.core.text import LONGEST_MESSAGE, one_line
from session_memory.store.sessions import CollectedSession

# The writers of the facts that a session's own logs state: where the session came from, its
# repository, and what it cost. Each is replaced without the others.
LOG_WRITER = "a log"
REPOSITORY_WRITER = "a log's repository"
COST_WRITER = "a log's costs"
# Facts that serve as titles. Each is cut to one line.
_TITLES = frozenset({"title", "custom_title", "agent_name"})
REPOSITORY, REPOSITORY_ROOT = "repository", "repository_root"


def facts_of(row: CollectedSession) -> dict[str, Any]:
    """All facts about a session. A document's fact wins over the log's.

    Where two documents differ, the same one always wins, whichever was read first.
    """
    return {} if row.facts == "{}" else merged_facts(row.facts)


def merged_facts(text: str) -> dict[str, Any]:
    """The facts in the column ``facts`` of a session."""
    merged: dict[str, Any] = {}
    for _, facts in sorted(json.loads(text).items()):
        merged.update(facts)
    return merged


def set_facts(row: CollectedSession, writer: str, facts: dict[str, Any]) -> None:
    """Replace the facts of one writer, unless it has stored facts of a newer generation."""
    stored = {} if row.facts == "{}" else json.loads(row.facts)
    if stored.get(writer, {}).get("generation", 0) <= facts.get("generation", 0):
        stored[writer] = facts
        row.facts = json.dumps(stored, sort_keys=True)


def drop_facts(row: CollectedSession, writer: str) -> None:
    """Forget the facts of one writer."""
    stored = json.loads(row.facts)
    if stored.pop(writer, None) is not None:
        row.facts = json.dumps(stored, sort_keys=True)


def set_repository(row: CollectedSession, name: str | None, root: str | None) -> None:
    """Keep the repository's name and its main checkout, as the log names them."""
    facts = {REPOSITORY: name, REPOSITORY_ROOT: root}
    set_facts(row, REPOSITORY_WRITER, {key: value for key, value in facts.items() if value})


def set_costs(row: CollectedSession, costs: dict[str, dict[str, int]]) -> None:
    """Store the costs of the session that the agent logged last. Empty costs remove stored ones."""
    if costs:
        set_facts(row, COST_WRITER, costs)
    elif COST_WRITER in row.facts:
        drop_facts(row, COST_WRITER)


def document_facts(record: Record) -> dict[str, Any]:
    """The facts of a document. ``below`` is the session in whose directory the document is."""
    facts = {name: value for name, value in (record.facts or {}).items() if value is not None}
    for name in _TITLES & facts.keys():
        facts[name] = one_line(facts[name], LONGEST_MESSAGE)
    if record.parent_session:
        facts["below"] = record.parent_session
    return facts


def origin_record(records: Iterable[Record]) -> Record | None:
    """The first record that says where its session came from."""
    return next((r for r in records if r.parent_session or r.relation), None)


def origin_facts(record: Record) -> dict[str, Any]:
    """What a log's record states about the origin of its session."""
    relation = record.relation or "subagent"
    is_orphan = record.parent_session is None
    facts = {
        "relation": relation if is_orphan or relation != "subagent" else None,
        "parent": None if relation == "subagent" else record.parent_session,
        "parent_flavor": record.parent_flavor,
        "spawn_call_id": record.spawn_call_id,
        "spawn_depth": record.spawn_depth,
        "base": None if record.base is None else [record.base.session, record.base.ordinal],
    }
    return {name: value for name, value in facts.items() if value is not None}


def origin_is_logged(row: CollectedSession) -> bool:
    """Whether logs or documents state the origin of a session; otherwise it was inferred."""
    return row.relation == "subagent" or "relation" in facts_of(row)


def logged_parent(row: CollectedSession) -> str | None:
    """The parent that logs or documents name, else None: an inferred parent proves nothing."""
    return row.parent_uid if origin_is_logged(row) else None


def base_of(row: CollectedSession) -> tuple[str, int] | None:
    """``(uid, end ordinal)`` of the history that a session begins with by reference, or None."""
    facts = facts_of(row) if row.relation == "fork" else {}
    base = facts.get("base")
    return None if base is None else (parent_uid(row, facts, base[0]), base[1])


def parent_uid(row: CollectedSession, facts: dict[str, Any], native: str) -> str:
    """The uid of the parent that facts name. The parent may be an imported session of another
    agent."""
    return make_uid(facts.get("parent_flavor") or row.flavor, native)
