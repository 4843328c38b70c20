"""Read a transcript of Cursor: JSON lines, or text."""

from collections.abc import Iterator

import msgspec

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor.layout import TEXT
from session_memory.adapters.cursor.plain import PlainState, from_text
from session_memory.adapters.cursor.translate import from_line
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.text_lines import read_text


class NoState(msgspec.Struct):
    """An empty state: a line of JSON can be translated without the lines before it."""


_TEXTS = StateText(PlainState)
_LINES = StateText(NoState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a log after ``cursor``, each with the cursor after it."""
    if source.ref.path.name.endswith(TEXT):
        yield from read_text(source, cursor, _TEXTS, from_text)
    else:
        yield from read_lines(source, cursor, _LINES, from_line)
