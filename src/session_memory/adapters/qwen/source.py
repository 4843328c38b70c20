"""Reading a source of Qwen Code: a log, a subagent's log, or a subagent's meta document."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.documents import read_document
from session_memory.adapters.qwen.state import QwenState
from session_memory.adapters.qwen.translate import from_line, from_meta
from session_memory.core.roles import DOCUMENT

_text = StateText(QwenState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; a meta document is a single one."""
    if source.ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_meta)
        return
    state = _text.restored(cursor.state)
    with source.open(cursor.offset) as stream:
        translate = partial(from_line, source.ref, state)
        for end, record in jsonl.records(stream, cursor.offset, translate):
            yield Cursor(end, _text.saved(state)), record
