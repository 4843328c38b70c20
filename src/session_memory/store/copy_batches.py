"""Rows that are collected over many inserts and then sent to PostgreSQL with one ``COPY``.

Before a statement runs that names a table with collected rows, the rows are sent. So a reader never
misses a row.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

# What a binary ``COPY`` begins and ends with.
_BEGIN = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
MOST_ROWS = 20_000
MOST_BYTES = 8 * 1024 * 1024


class CopyBatch:
    """Rows of one table, all with the same columns."""

    def __init__(self, table: str, columns: Sequence[str], types: Sequence[str]) -> None:
        self.table = table
        self.columns = columns
        self.types = types
        self.rows: list[Sequence[Any]] = []
        self.bytes = 0
        self._texts = [place for place, kind in enumerate(types) if kind == "text"]
        self._blobs = [place for place, kind in enumerate(types) if kind == "bytea"]

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows. Raises `UnicodeEncodeError` at once for a text that cannot be stored."""
        new = list(rows)
        texts = self._texts
        "".join([row[place] or "" for row in new for place in texts]).encode()
        for place in self._blobs:
            self.bytes += sum(len(row[place] or b"") for row in new)
        self.rows += new

    @property
    def statement(self) -> bytes:
        return _statement(self.table, self.columns)

    def send(self, copy: "psycopg.Copy") -> None:
        copy.set_types(self.types)
        for row in self.rows:
            copy.write_row(row)

    @property
    def is_large(self) -> bool:
        return len(self.rows) >= MOST_ROWS or self.bytes >= MOST_BYTES


class EncodedRows:
    """Rows of one table, encoded already for a binary ``COPY``."""

    def __init__(self, table: str, columns: Sequence[str], parts: list[bytes]) -> None:
        self.statement = _statement(table, columns)
        self._parts = parts

    def send(self, copy: "psycopg.Copy") -> None:
        copy.write(b"".join([_BEGIN, *self._parts, _END]))


def _statement(table: str, columns: Sequence[str]) -> bytes:
    return f"copy {table} ({', '.join(columns)}) from stdin (format binary)".encode()


class PendingRows(dict[tuple[str, tuple[str, ...]], CopyBatch]):
    """Batches in the order of the first insert into each table, so parents come first."""

    def are_needed_by(self, sql: str) -> bool:
        """Whether a statement could read a table with pending rows, or sets or leaves a savepoint.

        A rollback to a savepoint undoes just the rows that were collected after it.
        """
        words = _words(sql)
        return any(table in words for table, _ in self) or "_view" in sql or "savepoint" in words


@lru_cache(maxsize=1024)
def _words(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql))
