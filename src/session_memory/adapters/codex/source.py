"""Read a log of Codex."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.codex.reading import LogReading
from session_memory.adapters.codex.state import restored, saved
from session_memory.adapters.codex.translate import from_line


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a log after ``cursor``, one for each line, each with its cursor."""
    reading = LogReading(source.ref, restored(cursor.state))
    with source.open(cursor.offset) as stream:
        for end, record in jsonl.records(stream, cursor.offset, partial(from_line, reading)):
            yield Cursor(end, saved(reading.state)), record
