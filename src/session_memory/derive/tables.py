"""Our own live sessions as sources: their rows are their own raw and are never copied.

A live session is two sources that no file stands for. One says what is known of the session, as it
was when it was last looked at; the other counts how many of its rows were read, and in which order.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from session_memory.adapters.base import SourceRef
from session_memory.core.roles import DOCUMENT, TABLE
from session_memory.store.live_order import LiveItem, digest_of
from session_memory.store.live_rows import LiveRows
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

LIVE = "live"
# The rows are in the store, whichever machine looks at them.
NOWHERE = ""
AT_ONCE = 500
_ROWS = "rows"


def is_table(row: SourceRow) -> bool:
    return row.flavor == LIVE and row.host == NOWHERE


def refs_of(session_id: str) -> tuple[SourceRef, SourceRef]:
    """What is known of a session first: it says whose subagent or fork it is."""
    path = f"{LIVE}:{session_id}"
    return (
        SourceRef(Path(path), DOCUMENT, path, session_id),
        SourceRef(Path(f"{path}/{_ROWS}"), TABLE, f"{path}/{_ROWS}", session_id),
    )


def opened_table(store: Store, row: SourceRow, offset: int) -> BinaryIO:
    """The rows that were read so far as lines, from the ``offset``-th on."""
    if row.role == DOCUMENT:
        return io.BytesIO(row.cursor_state.encode())
    rows = LiveRows(store.db)
    items = rows.order(row.session)[offset : row.read_to]
    return io.BufferedReader(_Lines(table_lines(rows, row.session, items)))


def is_reordered(store: Store, row: SourceRow) -> bool:
    """Whether a row that came since belongs among those that were read."""
    if row.role != TABLE or not row.read_to:
        return False
    return digest_of(LiveRows(store.db).order(row.session)[: row.read_to]) != row.tail_hash


def table_lines(rows: LiveRows, session_id: str, items: list[LiveItem]) -> Iterator[bytes]:
    """Some at a time: a session may hold more than fits in memory."""
    for first in range(0, len(items), AT_ONCE):
        for _, line in rows.lines(session_id, items[first : first + AT_ONCE]):
            yield line


class _Lines(io.RawIOBase):
    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._lines, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
