"""Reading a source of Copilot: the log of a session or what lies beside it."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.copilot.state import CopilotState
from session_memory.adapters.copilot.translate import from_line, from_workspace
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.documents import read_document
from session_memory.core.roles import DOCUMENT

_text = StateText(CopilotState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; a document is a single one."""
    if source.ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_workspace)
        return
    state = _text.restored(cursor.state)
    with source.open(cursor.offset) as stream:
        translate = partial(from_line, source.ref, state)
        for end, record in jsonl.records(stream, cursor.offset, translate):
            yield Cursor(end, _text.saved(state)), record
