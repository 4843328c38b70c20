"""Check one record of an adapter from another package: types, limits, ids, its place in the source.

The types and limits are those of the fields in `session_memory.adapters.base`. A value that SQLite
or PostgreSQL would refuse is refused here, so that both hold the same.
"""

from typing import Any

import msgspec

from session_memory.adapters.base import NativeUsage, Record
from session_memory.core.ids import check_native_id
from session_memory.core.schema import RELATIONS
from session_memory.core.text import escaped, short_repr


class StatedFacts(msgspec.Struct):
    """The facts about a session whose types are checked. An adapter may state other facts too."""

    relation: str | None = None
    parent: str | None = None
    spawn_call_id: str | None = None
    spawn_depth: int | None = None
    base: tuple[str, int] | None = None
    cwd: str | None = None
    git_branch: str | None = None
    model: str | None = None
    agent_version: str | None = None
    title: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    agent_name: str | None = None
    summary: str | None = None
    leaf: str | None = None
    pull_request: str | None = None
    task_ref: str | None = None


def checked_record(given: Any, end: int, *, is_log: bool) -> Record:
    """Return a copy of a record that the store can hold.

    It is a copy because the adapter could still change its own record. ``end`` is the length of the
    source's data. In texts, characters that a database refuses become visible escapes. Any other
    wrong value raises an exception.
    """
    if not isinstance(given, Record):
        raise TypeError(f"{short_repr(given)} is not a Record")
    for used in (given.usage, *_listed(given.more_usage)):
        if isinstance(used, NativeUsage):
            used.reject_impossible()
    plain = msgspec.to_builtins(given, builtin_types=(bytes,))
    del plain["key"]  # `derive` sets it.
    record = msgspec.convert(_storable(plain), Record)
    _check_place(record, end)
    if record.problem is None:
        _check_ids(record)
    _check_names(record)
    if record.facts is not None:
        _check_facts(record.facts)
    if is_log:
        _check_contents(record)
    return record


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _storable(value: Any) -> Any:
    """Return a JSON value with the characters escaped that a database refuses. Raises TypeError for
    bytes."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_storable(inner) for inner in value]
    if isinstance(value, bytes):
        raise TypeError(f"bytes in place of text: {short_repr(value)}")
    return value


def _check_place(record: Record, end: int) -> None:
    if record.offset < 0 or record.length < 0 or record.offset + record.length > end:
        place = f"{record.length} bytes at {record.offset}"
        raise ValueError(f"its place is {place}, but the data has {end} bytes")


def _check_ids(record: Record) -> None:
    check_native_id("session", record.session)
    if record.parent_session:
        check_native_id("parent_session", record.parent_session)
    for link in (record.link, *record.more_links):
        if link is not None:
            check_native_id("link.child", link.child)
    if record.base is not None:
        check_native_id("base.session", record.base.session)
    for used in (record.usage, *record.more_usage):
        for child in used.subagents if used is not None else ():
            check_native_id("usage.subagents", child)


def _check_names(record: Record) -> None:
    """Raise ValueError for an empty id, kind, role or mark, and for an unknown relation.

    Kinds, roles and marks that the store does not know are allowed.
    """
    if record.native_id == "":
        raise ValueError("native_id is empty")
    if record.relation is not None and record.relation not in RELATIONS:
        raise ValueError(f"relation must be one of {_RELATIONS}, not {short_repr(record.relation)}")
    for event in record.events:
        if not (event.kind and event.role and all(event.marks)):
            raise ValueError("the kind, the role or a mark of an event is empty")
    for used in (record.usage, *record.more_usage):
        if used is not None and not used.usage_id:
            raise ValueError("usage.usage_id is empty")


def _check_facts(facts: dict[str, Any]) -> None:
    known = msgspec.convert(facts, StatedFacts)
    if known.relation and known.relation not in RELATIONS:
        raise ValueError(f"facts.relation must be one of {_RELATIONS}")
    if known.parent:
        check_native_id("facts.parent", known.parent)
    if known.base is not None:
        check_native_id("facts.base", known.base[0])


def _check_contents(record: Record) -> None:
    kinds = [bool(record.events), record.bookkeeping is not None, record.problem is not None]
    if sum(kinds) != 1:
        raise ValueError(
            "it must have events, or be bookkeeping, or be a problem: one of the three"
        )
    if record.continues and record.bookkeeping is None:
        raise ValueError("it continues the record before it, but is not bookkeeping")


_RELATIONS = ", ".join(sorted(RELATIONS))
