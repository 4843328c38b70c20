"""Read a history of aider."""

from collections.abc import Iterator

from session_memory.adapters.aider.translate import AiderState, from_text
from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.text_lines import read_text

_TEXTS = StateText(AiderState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a log after ``cursor``, each with the cursor after it."""
    yield from read_text(source, cursor, _TEXTS, from_text)
