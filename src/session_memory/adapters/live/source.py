"""Read the rows of a live session, which ``collect`` passes as lines. A cursor's offset counts
rows, not bytes."""

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
            # The length of a row in a store includes its newline.
            record = from_row(ref, length + 1, line, answer)
            yield Cursor(rows, saved(answer)), record
