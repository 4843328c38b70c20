"""power-loop: a SQLite database of sessions, in the tables of releases 0.2 to 8.

Evidence: docs/formats/power_loop.md. A database has no lines, so `dump` gives it some: one row is
one line, in the order in which rows were inserted, so that what was dumped before stays as it was.
"""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.power_loop.dump import dump
from session_memory.adapters.power_loop.layout import discover, recognizes, roots
from session_memory.adapters.power_loop.translate import BOOKKEEPING, from_row, from_session
from session_memory.core.roles import DOCUMENT

__all__ = ["BOOKKEEPING", "FLAVOR", "VERSION", "discover", "dump", "read", "recognizes", "roots"]

FLAVOR = "power_loop"
# Raise it whenever the same bytes give other events: stores then offer a rebuild from the raw.
VERSION = 1


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; the document has one for each session."""
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if source.ref.role == DOCUMENT:
                told = from_session(offset, length, line)
                if told is not None:
                    yield Cursor(offset + length), told
            elif line is None or not line.isspace():
                yield Cursor(offset + length), from_row(offset, length, line)
