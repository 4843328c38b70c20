"""Read a source of Copilot: the log of a session, or the document beside it."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.copilot.state import CopilotState
from session_memory.adapters.copilot.translate import from_line, from_workspace
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.documents import read_document
from session_memory.core.roles import DOCUMENT

_TEXTS = StateText(CopilotState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``; a document is a single record."""
    if source.ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_workspace)
        return
    yield from read_lines(source, cursor, _TEXTS, from_line)
