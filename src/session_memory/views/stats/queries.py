"""Figures that several sections of statistics use. They are counted, or read from stored sums."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol

from session_memory.store.database import Row
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope
from session_memory.views.stats.parts import DAY, HOUR, PLACE
from session_memory.views.stats.sums import Key, Sums, Values, spread


class StatsParts(Protocol):
    def sums(self, name: str) -> Sums: ...

    def values(self, name: str) -> Values: ...


class StatsQueries:
    def __init__(self, ask: Statistics, scope: Scope, parts: StatsParts) -> None:
        self.ask = ask
        self.scope = scope
        self._parts = parts

    def sums(self, part: str) -> Sums:
        return self._parts.sums(part)

    def rows(self, part: str) -> list[Row]:
        """Return a row for each key of a part: the key, then the figures."""
        return [(*key, *figures) for key, figures in self.sums(part).items()]

    def places(self, part: str) -> list[Row]:
        """Return the rows ``(flavor, repo, *figures)`` of a part."""
        return [(*key[1:], *row) for key, row in self.sums(part).items() if key[0] == PLACE]

    def days(self, part: str) -> dict[str, list[int]]:
        """Return the figures of each day, earliest first."""
        found = ((str(key[1]), row) for key, row in self.sums(part).items() if key[0] == DAY)
        return dict(sorted(found))

    def hours(self) -> list[list[int]]:
        """Return the number of events by weekday, Monday first, and hour."""
        hours = [[0] * 24 for _ in range(7)]
        for key, (events, *_) in self.sums("pulse").items():
            if key[0] == HOUR:
                _, weekday, hour = _hour(key)
                hours[weekday][hour] = events
        return hours

    def spreads(self, part: str) -> dict[str | int | None, tuple[int, int, int, int]]:
        """Return ``(count, median, 95th percentile, largest)`` of each list of values in a part."""
        found = ((what, spread(runs)) for what, runs in self._parts.values(part).items())
        return {what: figures for what, figures in found if figures is not None}


def _hour(key: Key) -> tuple[str, int, int]:
    name, weekday, hour = key
    return str(name), int(weekday or 0), int(hour or 0)


def summed(rows: Iterable[Row], key: Callable[[Row], str], start: int) -> dict[str, list[int]]:
    """Add up the columns from ``start`` on for each key."""
    sums: dict[str, list[int]] = {}
    for row in rows:
        name, figures = key(row), row[start:]
        known = sums.get(name)
        if known is None:
            sums[name] = list(figures)
        else:
            for place, figure in enumerate(figures):
                known[place] += figure
    return sums


def total(rows: Iterable[Row], start: int, columns: int) -> list[int]:
    """Add up the columns from ``start`` on over all rows."""
    sums = [0] * columns
    for row in rows:
        for place in range(columns):
            sums[place] += row[start + place]
    return sums


def grouped(rows: Iterable[Row], column: int) -> dict[str | None, list[Row]]:
    """Group the rows by the value of one column."""
    found: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found
