"""Read the dump of a power-loop database: its rows as a log, or the document about its sessions."""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.power_loop.translate import from_row, from_session
from session_memory.core.roles import DOCUMENT


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``. The document has a record per session."""
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if source.ref.role == DOCUMENT:
                record = from_session(offset, length, line)
                if record is not None:
                    yield Cursor(offset + length), record
            else:
                yield Cursor(offset + length), from_row(offset, length, line)
