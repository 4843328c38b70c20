"""Read a session of Crush: make lines from its changed rows, and records from the lines."""

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.crush.messages import is_finished, message_blocks, parts_of
from session_memory.adapters.crush.tables import CrushRows, time_of
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.databases import reading_database
from session_memory.adapters.json_records import (
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.adapters.reported_costs import SESSION_COSTS, TREE_COSTS, microdollars
from session_memory.adapters.row_journal import RowUnit, journal_lines
from session_memory.adapters.row_messages import RowsState, add_blocks
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line

# If a message did not change for this long, Crush was killed and will not finish the message.
_DEAD_MS = 60 * 60 * 1000
_DATA = ".crush"
_CHILD = "$$"
_NO_TITLES = ("New Session", "Untitled Session")
_TEXTS = StateText(RowsState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    return read_lines(source, cursor, _TEXTS, _from_line)


def rows(ref: SourceRef, cursor: Cursor) -> Iterator[bytes]:
    """Yield a line for the row of a session and for each of its messages, if the row or message is
    new or changed since ``cursor``."""
    state = _TEXTS.restored(cursor.state).journal
    with reading_database(ref.place) as db:
        session = CrushRows(db, ref.session)
        first = session.session_unit()
        if first is None:
            return
        first.notes["directory"] = _directory(ref.place)
        state = state.unless_older(first)
        units = chain([first], session.messages(state))
        ids = session.row_ids()
        yield from journal_lines(state, map(_closed_if_dead, units), session.newest(first), ids)


def _directory(database: Path) -> str | None:
    """Return the project's directory, if the database is where Crush puts it by default."""
    return str(database.parent.parent) if database.parent.name == _DATA else None


def _closed_if_dead(unit: RowUnit) -> RowUnit:
    unit.is_open = unit.is_open and unit.at >= time.time() * 1000 - _DEAD_MS
    return unit


def _from_line(
    ref: SourceRef, state: RowsState, offset: int, length: int, line: bytes | None
) -> Record:
    record = new_record(offset, length, session_name(escaped(ref.session)))
    native = object_in_line(record, line)
    if native is None:
        return record
    row, blocks = mapping(native.get("row")), []
    if native.get("table") == "session":
        _session(row, native, record)
    else:
        blocks = _message(row, native, record, state)
    state.journal.note(native, blocks)
    return record


def session_name(native: str) -> str:
    """Return the native id of a session: Crush's own id, with ``:`` in place of ``$$``.

    Crush names a subagent ``<message>$$<call>``.
    """
    return native.replace(_CHILD, ":", 1)


def _session(row: dict[str, Any], native: dict[str, Any], record: Record) -> None:
    record.bookkeeping = "session"
    record.ts = time_of(row.get("created_at")) or None
    record.cwd = string(native.get("directory")) or None
    parent, title = string(row.get("parent_session_id")), one_line(string(row.get("title")))
    facts: dict[str, Any] = {}
    if title and title not in _NO_TITLES:
        facts["ai_title"] = title
    if cost := microdollars(row.get("cost")):
        # Crush adds the cost of a subagent to its parent's cost.
        facts[SESSION_COSTS if parent else TREE_COSTS] = {"": cost}
    record.facts = facts or None
    if parent:
        record.parent_session = fit_native_id(session_name(parent))[0]
        record.spawn_call_id = name_in(string(row.get("id")).partition(_CHILD)[2]) or None


def _message(
    row: dict[str, Any], native: dict[str, Any], record: Record, state: RowsState
) -> list[str]:
    parts = parts_of(row.get("parts"))
    record.ts = time_of(row.get("created_at")) or None
    blocks = message_blocks(row, parts, is_open=native.get("open") is True)
    if _CHILD in string(row.get("session_id")):
        for _, event in blocks:
            # The prompt of a subagent was written by the parent session, not by a person.
            event.kind = "lifecycle" if event.kind == "user_msg" else event.kind
    name = name_in(row.get("id"))
    return add_blocks(
        record,
        state,
        name,
        fit_native_id(name or f"{record.session}@{record.offset}")[0],
        blocks,
        is_partial=not is_finished(row, parts),
        again=native.get("again") is True,
    )
