"""Read a skill log."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.skill.translate import from_line


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a log after ``cursor``, each with the cursor after it."""
    with source.open(cursor.offset) as stream:
        for end, record in jsonl.records(stream, cursor.offset, partial(from_line, source.ref)):
            yield Cursor(end), record
