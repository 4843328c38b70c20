"""Reading a skill log."""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.skill.translate import from_line


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if line is None or not line.isspace():
                yield Cursor(offset + length), from_line(source.ref, offset, length, line)
