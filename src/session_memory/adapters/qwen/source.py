"""Read a source of Qwen Code: a log, a subagent's log, a subagent's meta document, or a document
of an old version."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.documents import read_document
from session_memory.adapters.gemini.source import read as read_old
from session_memory.adapters.qwen.state import QwenState
from session_memory.adapters.qwen.translate import from_line, from_meta
from session_memory.core.roles import DOCUMENT, REWRITTEN

_TEXTS = StateText(QwenState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``. A meta document is a single record."""
    if source.ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_meta)
        return
    if source.ref.role == REWRITTEN:
        yield from read_old(source, cursor)
        return
    yield from read_lines(source, cursor, _TEXTS, from_line)
