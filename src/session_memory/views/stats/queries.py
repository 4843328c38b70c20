"""The database queries that sections share. Each runs once, when it is first needed."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from functools import cached_property

from session_memory.store.database import Row
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import QUARTER_MS, Scope
from session_memory.views.zones import clock

Sums = list[int]


class StatsQueries:
    def __init__(self, statistics: Statistics, scope: Scope, tz: tzinfo | None) -> None:
        self.ask = statistics
        self.scope = scope
        self._clock = clock(tz)
        self._moments: dict[int, datetime] = {}
        self._days: dict[int, str] = {}

    @cached_property
    def sessions(self) -> list[Row]:
        return self.ask.sessions(self.scope)

    @cached_property
    def pulse(self) -> list[Row]:
        return self.ask.pulse(self.scope)

    @cached_property
    def tests(self) -> list[Row]:
        return self.ask.tests(self.scope)

    @cached_property
    def waits(self) -> list[Row]:
        return self.ask.waits(self.scope)

    @cached_property
    def used(self) -> list[Row]:
        return self.ask.used(self.scope)

    def moment(self, quarter: int) -> datetime:
        """The local time of a quarter of an hour, in the report's time zone."""
        found = self._moments.get(quarter)
        if found is None:
            found = self._moments[quarter] = self._clock(quarter * QUARTER_MS)
        return found

    def day(self, quarter: int) -> str:
        found = self._days.get(quarter)
        if found is None:
            found = self._days[quarter] = self.moment(quarter).date().isoformat()
        return found

    def by_day(self, rows: Iterable[Row], place: int) -> dict[str, Sums]:
        """The columns after ``place``, which is a quarter, summed for each day, earliest first."""
        dated = (row for row in rows if row[place] is not None)
        return dict(sorted(summed(dated, lambda row: self.day(row[place]), place + 1).items()))


def summed(rows: Iterable[Row], key: Callable[[Row], str], start: int) -> dict[str, Sums]:
    """The columns from ``start`` on, added up for each key."""
    sums: dict[str, Sums] = {}
    for row in rows:
        name, figures = key(row), row[start:]
        known = sums.get(name)
        if known is None:
            sums[name] = list(figures)
        else:
            for place, figure in enumerate(figures):
                known[place] += figure
    return sums


def total(rows: Iterable[Row], start: int, columns: int) -> Sums:
    """The columns from ``start`` on, added up over all rows."""
    sums = [0] * columns
    for row in rows:
        for place in range(columns):
            sums[place] += row[start + place]
    return sums


def grouped(rows: Iterable[Row], column: int) -> dict[str | None, list[Row]]:
    """The rows by the value of one column."""
    found: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found
