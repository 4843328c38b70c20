"""The sources of a host, found by their paths, without holding all their rows in memory.

A store may know 100,000 sources, and a watch checks all of them now and then. Memory holds two
numbers for each source: a hash of its path, and its id. Rows are loaded in batches when needed.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from session_memory.store.database import Database
from session_memory.store.sources import SELECT, SourceRow, to_source_row

_IDS = """
    select id, path from sources where host = :host and superseded = 0 order by generation
"""
_ROWS = f"{SELECT} where id in ({{keys}})"
_AT_PATH = f"{SELECT} where host = :host and path = :path and superseded = 0 order by generation"
# An imported source has the inode -1 until a sync has compared it with a file of this host.
_EXPECTED = """
    select id, path from sources
    where host = :host and superseded = 0 and vanished = 0 and inode <> -1
"""


class ExpectedSource(NamedTuple):
    """A source whose file existed when it was last checked."""

    id: int
    path: str


class KnownSources:
    """The newest generation of every source of a host, or only of the given ``rows``."""

    def __init__(self, db: Database, host: str, rows: dict[str, SourceRow] | None = None) -> None:
        self._db = db
        self._host = host
        self._is_whole = rows is None
        self._rows = rows or {}
        # Only a hash of each path is kept, which takes a tenth of the memory. If two paths have the
        # same hash, the path in the loaded row shows it.
        self._ids: dict[int, int] = {}
        if self._is_whole:
            found = db.each(_IDS, {"host": host})
            self._ids = {hash(path): source_id for source_id, path in found}

    @property
    def loaded(self) -> dict[str, SourceRow]:
        """The rows in memory, by path."""
        return self._rows

    def load(self, paths: Iterable[str]) -> None:
        """Load the rows of these paths in place of those that were loaded before."""
        if self._is_whole:
            ids = {self._ids.get(hash(path)) for path in paths} - {None}
            self._rows = {row.path: row for row in self.with_ids(sorted(filter(None, ids)))}

    def get(self, path: str) -> SourceRow | None:
        """The newest generation of the source at a path; None if there is none."""
        if (row := self._rows.get(path)) is not None:
            return row
        source_id = self._ids.get(hash(path))
        if source_id is None:
            return None
        row = next(self.with_ids([source_id]), None)
        if row is not None and row.path == path:
            return row
        found = self._db.all(_AT_PATH, {"host": self._host, "path": path})
        return to_source_row(found[-1]) if found else None

    def with_ids(self, ids: list[int]) -> Iterator[SourceRow]:
        return map(to_source_row, self._db.matching(_ROWS, ids))

    def expected(self) -> Iterator[ExpectedSource]:
        """The sources whose files should exist."""
        return (ExpectedSource(*row) for row in self._db.each(_EXPECTED, {"host": self._host}))
