"""Read a log of pi."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.pi.translate import PiState, from_line

_TEXTS = StateText(PiState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a log after ``cursor``, each with the cursor after it."""
    yield from read_lines(source, cursor, _TEXTS, from_line)
