"""Read a log or an old document of Gemini CLI."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.documents import DocumentReader, read_messages
from session_memory.adapters.gemini.state import GeminiState
from session_memory.adapters.gemini.translate import (
    from_line,
    from_members,
    from_message,
    go_back,
    session_of,
)
from session_memory.core.roles import REWRITTEN

_TEXTS = StateText(GeminiState)
_DOCUMENT = DocumentReader(session_of, from_message, from_members, go_back)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with its own cursor."""
    if source.ref.role == REWRITTEN:
        return read_messages(source, cursor, _TEXTS, _DOCUMENT)
    return read_lines(source, cursor, _TEXTS, from_line)
