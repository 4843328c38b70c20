"""Read a source of mycode: the log of a session, or the document beside it."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.documents import read_document
from session_memory.adapters.mycode.documents import from_document
from session_memory.adapters.mycode.translate import from_line
from session_memory.adapters.mycode.visible import restored, saved
from session_memory.core.roles import DOCUMENT, SPILL


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``. A document is a single record; all other
    files beside a log have none."""
    ref = source.ref
    if ref.role == SPILL:
        return
    if ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_document)
        return
    with source.open(cursor.offset) as stream:
        visible = restored(cursor.state)
        for end, record in jsonl.records(stream, cursor.offset, partial(from_line, ref, visible)):
            yield Cursor(end, saved(visible)), record
