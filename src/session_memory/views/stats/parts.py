"""The parts of the statistics, counted by the database. Each part is one statement."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo

from session_memory.store.database import Row
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import QUARTER_MS, Scope
from session_memory.views.stats.sums import NEVER, SortedValues, Sums, Values, add
from session_memory.views.zones import clock

PLACE, DAY, HOUR = "place", "day", "hour"


class LocalDays:
    """Tells the local day and hour of a quarter of an hour, counted from 1970, in a time zone."""

    def __init__(self, tz: tzinfo | None) -> None:
        self._clock = clock(tz)
        self._moments: dict[int, tuple[str, int, int]] = {}

    def of(self, quarter: int) -> tuple[str, int, int]:
        """Return the day, the weekday (Monday is 0) and the hour."""
        found = self._moments.get(quarter)
        if found is None:
            moment: datetime = self._clock(quarter * QUARTER_MS)
            found = moment.date().isoformat(), moment.weekday(), moment.hour
            self._moments[quarter] = found
        return found


class CountedParts:
    """Parts of the statistics, each counted from the events when it is first asked for."""

    def __init__(self, ask: Statistics, scope: Scope, days: LocalDays) -> None:
        self._ask, self._scope, self._days = ask, scope, days
        self._sums: dict[str, Sums] = {}
        self._values: dict[str, Values] = {}

    def sums(self, name: str) -> Sums:
        if name not in self._sums:
            self._sums[name] = SUMMED[name](self._ask, self._scope, self._days)
        return self._sums[name]

    def values(self, name: str) -> Values:
        if name not in self._values:
            self._values[name] = _runs(LISTED[name](self._ask, self._scope))
        return self._values[name]


def _runs(rows: Iterable[Row]) -> Values:
    found: dict[str | int | None, array[int]] = defaultdict(lambda: array("q"))
    for what, amount in rows:
        found[what].append(amount)
    return {what: [SortedValues.of(amounts)] for what, amounts in found.items()}


def _placed(rows: Iterable[Row], days: LocalDays) -> Sums:
    """Return sums by agent and repository, and by day."""
    sums: Sums = {}
    for flavor, repo, quarter, *figures in rows:
        add(sums, (PLACE, flavor, repo), figures)
        if quarter is not None:
            add(sums, (DAY, days.of(quarter)[0]), figures)
    return sums


def _pulse(ask: Statistics, scope: Scope, days: LocalDays) -> Sums:
    rows = ask.pulse(scope)
    sums = _placed(rows, days)
    for _, _, quarter, events, *_ in rows:
        if quarter is not None:
            add(sums, (HOUR, *days.of(quarter)[1:]), (events,))
    return sums


def _cached(ask: Statistics, scope: Scope, days: LocalDays) -> Sums:
    sums: Sums = {}
    for quarter, *figures in ask.cached(scope):
        if quarter is not None:
            add(sums, (days.of(quarter)[0],), figures)
    return sums


def _files(ask: Statistics, scope: Scope, days: LocalDays) -> Sums:
    return {
        (repo, path): [*figures, NEVER if last is None else last]
        for repo, path, *figures, last in ask.files(scope)
    }


def _keyed(rows: Iterable[Row], width: int) -> Sums:
    return {row[:width]: list(row[width:]) for row in rows}


Count = Callable[[Statistics, Scope, LocalDays], Sums]
SUMMED: dict[str, Count] = {
    "sessions": lambda ask, scope, days: _placed(ask.sessions(scope), days),
    "pulse": _pulse,
    "tests": lambda ask, scope, days: _placed(ask.tests(scope), days),
    "waits": lambda ask, scope, days: _keyed(ask.waits(scope), 3),
    "used": lambda ask, scope, days: _keyed(ask.used(scope), 3),
    "cached": _cached,
    "tools": lambda ask, scope, days: _keyed(ask.tools(scope), 1),
    "retried": lambda ask, scope, days: _keyed(ask.retried(scope), 1),
    "retrying": lambda ask, scope, days: {(): [ask.sessions_with_retries(scope)]},
    "files": _files,
}
LISTED: dict[str, Callable[[Statistics, Scope], Iterable[Row]]] = {
    "durations": lambda ask, scope: ask.durations(scope),
    "contexts": lambda ask, scope: ask.contexts(scope),
}
