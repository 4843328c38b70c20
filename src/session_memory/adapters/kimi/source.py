"""Read a source of Kimi: the log of an agent, or the document beside it."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.documents import read_document
from session_memory.adapters.kimi.documents import from_document
from session_memory.adapters.kimi.state import KimiState
from session_memory.adapters.kimi.translate import from_line
from session_memory.core.roles import DOCUMENT, SPILL

_TEXTS = StateText(KimiState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``. A document is a single record; all other
    files beside a log have none."""
    if source.ref.role == SPILL:
        return
    if source.ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_document)
        return
    yield from read_lines(source, cursor, _TEXTS, from_line)
