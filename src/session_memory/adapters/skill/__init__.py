"""The skill log: one JSONL file for each session, one line for each call of a skill.

Evidence: docs/skills.md. A line is whole in itself: the call, its attempts and its end; it follows
the line before it.
"""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.skill.layout import discover, recognizes, roots
from session_memory.adapters.skill.translate import from_line
from session_memory.core.skills import FLAVOR

__all__ = ["BOOKKEEPING", "FLAVOR", "VERSION", "discover", "read", "recognizes", "roots"]

# Raise it whenever the same bytes give other events: stores then offer a rebuild from the raw.
VERSION = 1
BOOKKEEPING: frozenset[str] = frozenset()


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if line is None or not line.isspace():
                yield Cursor(offset + length), from_line(source.ref, offset, length, line)
