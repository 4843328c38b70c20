"""Codex CLI: one JSONL file per thread, in three generations of lines.

Evidence: docs/formats/codex.md. Lines have no links between them, so each follows the one before;
what a line needs to know about earlier ones travels in the cursor.
"""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.codex.layout import discover, recognizes, roots
from session_memory.adapters.codex.reading import Reading
from session_memory.adapters.codex.state import restored, saved
from session_memory.adapters.codex.translate import BOOKKEEPING, from_line

__all__ = ["BOOKKEEPING", "FLAVOR", "VERSION", "discover", "read", "recognizes", "roots"]

FLAVOR = "codex"
# Raise it whenever the same bytes give other events: stores then offer a rebuild from the raw.
VERSION = 1


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    reading = Reading(source.ref, restored(cursor.state))
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if line is None or not line.isspace():
                record = from_line(reading, offset, length, line)
                yield Cursor(offset + length, saved(reading.state)), record
