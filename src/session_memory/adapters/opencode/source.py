"""Read a session of opencode: make lines from its changed rows, and records from the lines."""

import time
from collections.abc import Iterator
from itertools import chain

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.databases import reading_database
from session_memory.adapters.documents import read_messages
from session_memory.adapters.opencode import tree
from session_memory.adapters.opencode.exports import EXPORT
from session_memory.adapters.opencode.state import OpencodeState
from session_memory.adapters.opencode.tables import OpencodeRows
from session_memory.adapters.opencode.translate import from_line
from session_memory.adapters.row_journal import (
    RowUnit,
    journal_lines,
)
from session_memory.core.roles import REWRITTEN

# If a message did not change for this long, opencode was killed and will not finish the message.
_DEAD_MS = 60 * 60 * 1000
_TEXTS = StateText(OpencodeState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    if source.ref.role == REWRITTEN:
        return read_messages(source, cursor, _TEXTS, EXPORT)
    return read_lines(source, cursor, _TEXTS, from_line)


def rows(ref: SourceRef, cursor: Cursor) -> Iterator[bytes]:
    """Yield a line for the row of a session, for each of its messages and for its other rows, if
    they are new or changed since ``cursor``."""
    known = _TEXTS.restored(cursor.state)
    state = known.journal
    if ref.place.suffix == ".json":
        found = list(tree.changed_units(ref.place, state))
        newest = max((unit.at for unit in found), default=0)
        yield from journal_lines(state, map(_closed_if_dead, found), newest, [])
        return
    with reading_database(ref.place) as db:
        session = OpencodeRows(db, ref.session, known.revert)
        units = session.changed_units(state)
        first = next(units, None)
        if first is None:
            return
        if state.unless_older(first) is not state:
            state = state.unless_older(first)
            units = session.changed_units(state)
            first = next(units)
        every = map(_closed_if_dead, chain([first], units))
        yield from journal_lines(state, every, session.newest(), session.row_ids())


def _closed_if_dead(unit: RowUnit) -> RowUnit:
    if unit.is_open and unit.at < time.time() * 1000 - _DEAD_MS:
        unit.is_open = False
    return unit
