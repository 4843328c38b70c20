"""Reading a log of Gemini CLI."""

from collections.abc import Iterator
from functools import partial

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.gemini.state import GeminiState
from session_memory.adapters.gemini.translate import from_line

_text = StateText(GeminiState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    state = _text.restored(cursor.state)
    with source.open(cursor.offset) as stream:
        translate = partial(from_line, source.ref, state)
        for end, record in jsonl.records(stream, cursor.offset, translate):
            yield Cursor(end, _text.saved(state)), record
