"""Rows on their way into tables: gathered over many calls, sent together by ``COPY``.

Nobody notices that they wait: a statement that names their table sends them first.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

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
        """Refuses, like any database would at once, a text that is no Unicode."""
        new = list(rows)
        texts = self._texts
        "".join([row[place] or "" for row in new for place in texts]).encode()
        for place in self._blobs:
            self.bytes += sum(len(row[place] or b"") for row in new)
        self.rows += new

    @property
    def is_large(self) -> bool:
        return len(self.rows) >= MOST_ROWS or self.bytes >= MOST_BYTES


class PendingRows(dict[tuple[str, tuple[str, ...]], CopyBatch]):
    """Batches in the order in which their tables were first written to: parents come first."""

    def asked_for(self, sql: str) -> bool:
        """Whether a statement could see that rows are missing."""
        words = _words(sql)
        return any(table in words for table, _ in self) or "_view" in sql


@lru_cache(maxsize=1024)
def _words(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql))
