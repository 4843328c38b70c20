"""Counting the lines of a source: how many there are, and what kind of lines they are."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from session_memory.adapters.base import Record
from session_memory.store.sources import SourceRow


class LineCounts:
    """Lines, lines that needed lenient decoding, and bookkeeping lines by kind."""

    def __init__(self) -> None:
        self._lines = 0
        self._lenient = 0
        self._bookkeeping: list[str] = []

    def add(self, records: list[Record]) -> None:
        self._lines += len(records)
        for record in records:
            if record.bookkeeping is not None:
                self._bookkeeping.append(record.bookkeeping)
            if record.lenient:
                self._lenient += 1

    def add_to(self, source: SourceRow) -> None:
        """Add the counts to a source's row."""
        source.lines += self._lines
        source.lenient += self._lenient
        if self._bookkeeping:
            counts = Counter(msgspec.json.decode(source.bookkeeping, type=dict[str, int]))
            counts.update(self._bookkeeping)
            source.bookkeeping = msgspec.json.encode(dict(sorted(counts.items()))).decode()


def problems_in(records: Iterable[Record]) -> list[tuple[int, int, str, str]]:
    """``(offset, length, reason, detail)`` of every record that is a problem."""
    return [
        (record.offset, record.length, record.problem, record.problem_detail)
        for record in records
        if record.problem is not None
    ]
