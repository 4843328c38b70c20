"""Reading a source of mycode: the log of a session or a document beside it."""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.mycode.documents import from_document
from session_memory.adapters.mycode.translate import from_line
from session_memory.adapters.mycode.visible import restored, saved
from session_memory.core.roles import DOCUMENT, SPILL

LONGEST_DOCUMENT = 1024 * 1024


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; a document is a single one."""
    ref = source.ref
    if ref.role == SPILL:
        return
    with source.open(cursor.offset) as stream:
        if ref.role == DOCUMENT:
            body = stream.read(LONGEST_DOCUMENT)
            # An empty document was created a moment ago and is not written yet.
            if body and not cursor.offset:
                yield Cursor(len(body)), from_document(ref, body)
            return
        visible = restored(cursor.state)
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            if line is None or not line.isspace():
                record = from_line(ref, visible, offset, length, line)
                yield Cursor(offset + length, saved(visible)), record
