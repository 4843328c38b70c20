"""Count the lines of a source: how many there are, and what kind of lines they are."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from session_memory.adapters.base import Record
from session_memory.core.text import one_line
from session_memory.store.sources import SourceRow

# The ``reason`` of the problem for a record with a token count that cannot be true.
IMPOSSIBLE_COUNT = "impossible token count"


class LineCounts:
    """Counts lines, lines that needed lenient decoding, and bookkeeping lines by kind."""

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


class SourceLines(msgspec.Struct):
    """What the row of a source and the report of a sync need to know about the source's lines.

    ``starts_at`` is the first time in the lines.
    """

    starts_at: int | None
    counts: LineCounts
    problems: list[tuple[int, int, str, str]]


def lines_of(records: list[Record]) -> SourceLines:
    counts = LineCounts()
    counts.add(records)
    starts_at = next((record.ts for record in records if record.ts is not None), None)
    return SourceLines(starts_at, counts, problems_in(records))


def problems_in(records: Iterable[Record]) -> list[tuple[int, int, str, str]]:
    """Return ``(offset, length, reason, detail)`` for every problem in the records.

    A record may be a problem itself. Any other record may have two problems: a remark, and counts
    of tokens that cannot be true, without which the record is stored. These two have the length 0,
    because the line is not lost.
    """
    problems = []
    for record in records:
        if record.problem is not None:
            detail = record.problem_detail
            problems.append((record.offset, record.length, record.problem, detail))
            continue
        if record.remark:
            problems.append((record.offset, 0, record.remark, ""))
        if record.usage is not None:
            rejected = [used.rejected for used in (record.usage, *record.more_usage)]
            if any(rejected):
                detail = one_line(", ".join(filter(None, rejected)), 200)
                problems.append((record.offset, 0, IMPOSSIBLE_COUNT, detail))
    return problems
