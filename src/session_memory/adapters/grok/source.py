"""Reading a source of Grok: the log of a session, its timeline, or a document beside them."""

from collections.abc import Iterator

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.documents import read_document
from session_memory.adapters.grok import state, timeline, translate
from session_memory.adapters.grok.documents import from_document
from session_memory.core.roles import DOCUMENT, SPILL, TIMELINE


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; a document is a single one."""
    ref = source.ref
    if ref.role == SPILL:
        return
    if ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_document)
        return
    with source.open(cursor.offset) as stream:
        if ref.role == TIMELINE:
            answers = timeline.restored(cursor.state)
            for offset, length, line in jsonl.lines(stream, cursor.offset):
                if line is None or not line.isspace():
                    record = timeline.from_moment(ref, answers, offset, length, line)
                    yield Cursor(offset + length, timeline.saved(answers)), record
        else:
            memory = state.restored(cursor.state)
            for offset, length, line in jsonl.lines(stream, cursor.offset):
                if line is None or not line.isspace():
                    record = translate.from_line(ref, memory, offset, length, line)
                    yield Cursor(offset + length, state.saved(memory)), record
