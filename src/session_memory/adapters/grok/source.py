"""Read a source of Grok: the log of a session, its timeline, or a document beside them."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.documents import read_document
from session_memory.adapters.grok import state, timeline, translate
from session_memory.adapters.grok.documents import from_document
from session_memory.core.roles import DOCUMENT, SPILL, TIMELINE


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``. A document is a single record; all other
    files have none."""
    ref = source.ref
    if ref.role == SPILL:
        return
    if ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_document)
        return
    with source.open(cursor.offset) as stream:
        if ref.role == TIMELINE:
            answers = timeline.restored(cursor.state)
            from_moment = partial(timeline.from_moment, ref, answers)
            for end, record in jsonl.records(stream, cursor.offset, from_moment):
                yield Cursor(end, timeline.saved(answers)), record
        else:
            memory = state.restored(cursor.state)
            from_line = partial(translate.from_line, ref, memory)
            for end, record in jsonl.records(stream, cursor.offset, from_line):
                yield Cursor(end, state.saved(memory)), record
