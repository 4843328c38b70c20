"""Read a source of Droid: the log of a session, or its settings."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.documents import read_messages
from session_memory.adapters.droid.settings import READER, DroidSums
from session_memory.adapters.droid.translate import DroidState, from_line
from session_memory.core.roles import REWRITTEN

_LINES, _SUMS = StateText(DroidState), StateText(DroidSums)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    if source.ref.role == REWRITTEN:
        return read_messages(source, cursor, _SUMS, READER)
    return read_lines(source, cursor, _LINES, from_line)
