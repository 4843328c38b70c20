"""Reading a log of Codex."""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.codex.reading import LogReading
from session_memory.adapters.codex.state import restored, saved
from session_memory.adapters.codex.translate import from_line


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    reading = LogReading(source.ref, restored(cursor.state))
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if line is None or not line.isspace():
                record = from_line(reading, offset, length, line)
                yield Cursor(offset + length, saved(reading.state)), record
