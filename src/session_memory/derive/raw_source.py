"""A stored source, read back from the raw as an adapter reads a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.adapters.registry import agent
from session_memory.derive.tables import is_table, opened_table
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


class RawSource:
    """The bytes we kept of a source; the agent's own file may be long gone."""

    def __init__(self, store: Store, row: SourceRow) -> None:
        self.ref = self.ref_of(row)
        self._store = store
        self._row = row

    @staticmethod
    def ref_of(row: SourceRow) -> SourceRef:
        return SourceRef(Path(row.path), row.role, row.home_path, row.session, row.agent)

    def open(self, offset: int) -> BinaryIO:
        # A copy of a live session's rows, made to compare them, is kept like any other raw.
        if is_table(self._row) and not self._row.kept:
            return opened_table(self._store, self._row, offset)
        return self._store.raw.open(self._row.id, offset)


def stored_records(store: Store, row: SourceRow) -> Iterator[Record]:
    """Every record of a stored source, translated by the adapter of today."""
    for _, record in agent(row.flavor).read(RawSource(store, row), Cursor()):
        yield record
