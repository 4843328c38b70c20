"""Live sessions of this store as sources. Their rows serve as their logs and are never copied.

A live session is two sources without a file. The first is a document with the facts about the
session when it was last read. The second is a table: it holds how many rows were read, and a hash
of their order.
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
# The host of these sources: their rows are in the store, not on one machine.
NOWHERE = ""
AT_ONCE = 500
_ROWS = "rows"


def is_table(row: SourceRow) -> bool:
    """Whether a source is a live session of this store."""
    return row.flavor == LIVE and row.host == NOWHERE


def refs_of(session_id: str, origin: str = "") -> tuple[SourceRef, SourceRef]:
    """The two sources of a session; the document first, because it names the parent session.

    ``origin`` is the uid of the session that the live session was imported from. The store shows
    the two as one session.
    """
    path = f"{LIVE}:{session_id}"
    return (
        SourceRef(Path(path), DOCUMENT, path, session_id, origin),
        SourceRef(Path(f"{path}/{_ROWS}"), TABLE, f"{path}/{_ROWS}", session_id, origin),
    )


def flavor_of(row: SourceRow) -> str:
    """The flavor of the sessions in a source. An imported live session has the flavor of its
    origin."""
    return row.agent.partition(":")[0] if is_table(row) and row.agent else row.flavor


def opened_table(store: Store, row: SourceRow, offset: int) -> BinaryIO:
    """The rows that were read so far, as lines, from number ``offset`` on."""
    if row.role == DOCUMENT:
        return io.BytesIO(row.cursor_state.encode())
    rows = LiveRows(store.db)
    items = rows.order(row.session)[offset : row.read_to]
    return io.BufferedReader(_LineStream(table_lines(rows, row.session, items)))


def is_reordered(store: Store, row: SourceRow) -> bool:
    """Whether a row was added that belongs before rows that were read."""
    if row.role != TABLE or not row.read_to:
        return False
    return digest_of(LiveRows(store.db).order(row.session)[: row.read_to]) != row.tail_hash


def table_lines(rows: LiveRows, session_id: str, items: list[LiveItem]) -> Iterator[bytes]:
    """Rows as lines, loaded in portions: a session may hold more than fits in memory."""
    for first in range(0, len(items), AT_ONCE):
        for _, line in rows.lines(session_id, items[first : first + AT_ONCE]):
            yield line


class _LineStream(io.RawIOBase):
    """Lines as a stream of bytes."""

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
