"""Let adapters read a source from the stored logs, as they read a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.adapters.checked_reading import records_of
from session_memory.derive.live_sources import is_table, opened_table
from session_memory.derive.readers import refuse_unusable
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


class RawSource:
    """The bytes that the store keeps of a source. The agent's own file may be deleted."""

    def __init__(self, store: Store, row: SourceRow) -> None:
        self.ref = self.ref_of(row)
        self._store = store
        self._row = row

    @staticmethod
    def ref_of(row: SourceRow) -> SourceRef:
        return SourceRef(Path(row.path), row.role, row.home_path, row.session, row.agent)

    def open(self, offset: int) -> BinaryIO:
        # ``verify`` copies the rows of a live session. The copy has packs, as any other source.
        if is_table(self._row) and not self._row.kept:
            return opened_table(self._store, self._row, offset)
        return self._store.raw.open(self._row.id, offset)


def stored_records(store: Store, row: SourceRow) -> Iterator[Record]:
    """Every record of a stored source, translated by the installed adapter.

    Raises ``AdapterError`` when there is no adapter, when it is too old, or when it fails.
    """
    for _, record in stored_places(store, row):
        yield record


def stored_places(store: Store, row: SourceRow) -> Iterator[tuple[Cursor, Record]]:
    """Like `stored_records`, each with the cursor after it."""
    reader = refuse_unusable(row)
    yield from records_of(reader, RawSource(store, row), Cursor(), row.kept)
