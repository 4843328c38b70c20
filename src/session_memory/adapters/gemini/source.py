"""Reading a log of Gemini CLI."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.gemini.state import GeminiState
from session_memory.adapters.gemini.translate import from_line

_TEXTS = StateText(GeminiState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    yield from read_lines(source, cursor, _TEXTS, from_line)
