"""Reading the rows of a live session, as ``collect`` hands them over. An offset counts rows."""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.live.answer import restored, saved
from session_memory.adapters.live.translate import from_row, from_session
from session_memory.core.roles import DOCUMENT


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    ref = source.ref
    with source.open(cursor.offset) as stream:
        if ref.role == DOCUMENT:
            yield Cursor(1), from_session(ref, stream.read())
            return
        rows, answer = cursor.offset, restored(cursor.state)
        for _, length, line in jsonl.lines(stream, 0):
            rows += 1
            # Stores count the newline of a row.
            record = from_row(ref, length + 1, line, answer)
            yield Cursor(rows, saved(answer)), record
