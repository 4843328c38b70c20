"""Compute charges from stored figures, with the same result as from the usage records.

Whole days are read from the stored sums over all sessions. Two kinds of sessions are subtracted
from these sums and counted from their usage: those that have changed since, and those with usage on
a day that lies only partly in the period.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from session_memory.pricing.counted import (
    MILLION,
    Charge,
    Clock,
    Offsets,
    UsageFilter,
    counted_charges,
)
from session_memory.pricing.figure_sets import FEW_MARKS, RatesByKind, figure_set
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.rates import Rate, UsageKind
from session_memory.pricing.table import DAY_MS
from session_memory.store import Store
from session_memory.store.database import Row
from session_memory.store.figures import NO_DAY, listed
from session_memory.store.usage import BUCKETS

MOST_COUNTED = 2_000
"""If more sessions than this have to be counted from their usage, figures are not used at all."""
_AT_ONCE = 500
_KEYS = {
    "day": f"nullif(f.day, {NO_DAY})",
    "repo": "g.repo",
    "outcome": "g.outcome",
    "session": "s.uid",
}
_SUMS = ", ".join(f"sum(f.{name})" for name in ("records", *BUCKETS, "dollars", "rest"))
_CHARGES = f"""
    select {{keys}}, g.flavor, f.model, f.speed, f.tier, f.rate, {_SUMS}
    from {{table}} f join figure_groups g on g.id = f.group_id {{join}}
    where f.set_id = :set_id {{where}}
    group by {{names}}, g.flavor, f.model, f.speed, f.tier, f.rate
"""
_ON_DAYS = """
    select distinct session_id from session_spending where set_id = :set_id and day in ({days})
    limit {limit}
"""
_UIDS = "select uid from sessions where id in ({keys})"
_SESSION = "join sessions s on s.id = f.session_id"

Sums = dict[tuple[tuple[Any, ...], Rate], list[int]]


def kept_charges(
    store: Store, keys: Sequence[str], filters: UsageFilter, clock: Clock
) -> list[Charge] | None:
    """Return the charges, or None if figures cannot answer this. Call it inside a snapshot."""
    if not set(keys) <= _KEYS.keys() or filters.uids is not None or filters.has_reported_cost:
        return None
    known = figure_set(store, clock)
    if known is None:
        return None
    days = WholeDays(filters, clock)
    changed = store.figures.marked(known.id, FEW_MARKS + 1)
    if len(changed) > FEW_MARKS:
        return None
    partly = _on_days(store, known.id, days.partial)
    counted = sorted({*changed, *partly})
    if len(counted) > MOST_COUNTED:
        return None
    sums: Sums = {}
    reading = _Reading(store, known.id, keys, filters, days)
    if "session" in keys:
        others = f"and f.session_id not in ({listed(counted)})" if counted else ""
        reading.add(sums, "session_spending", others)
    else:
        reading.add(sums, "daily_spending", "")
        if counted:
            among = f"and f.session_id in ({listed(counted)})"
            reading.add(sums, "session_spending", among, sign=-1)
    _count(store, sums, counted, keys, filters, clock)
    return [
        Charge(key, rate, records, tuple(figures[:-1]), figures[-1])
        for (key, rate), (records, *figures) in sums.items()
        if records
    ]


class WholeDays:
    """The days that lie wholly inside of a period, from ``first`` until before ``end``.

    ``partial`` are the days that may lie only partly in the period. When clocks are changed, days
    may overlap, so the days beside the change are partial, too.
    """

    def __init__(self, filters: UsageFilter, clock: Clock) -> None:
        self.first: int | None = None
        self.end: int | None = None
        self.partial: set[int] = set()
        for name in ("since", "until"):
            moment = getattr(filters, name)
            if moment is None:
                continue
            day, is_start, is_plain = _day(moment, clock)
            if is_start and is_plain:
                first, end = day, day
            else:
                beside = 0 if is_plain else 1
                self.partial |= {day - beside, day, day + beside}
                first, end = day + beside + 1, day - beside
            if name == "since":
                self.first = first
            else:
                self.end = end
        if self.first is not None and self.end is not None:
            self.end = max(self.first, self.end)

    def condition(self) -> str:
        parts = [] if self.first is None else [f"and f.day >= {self.first:d}"]
        if self.end is not None:
            parts.append(f"and f.day < {self.end:d} and f.day <> {NO_DAY}")
        return " ".join(parts)


def _day(moment: int, clock: Clock) -> tuple[int, bool, bool]:
    """Return the day of a moment, whether the day begins at this moment, and whether no clock
    change is within a day before or after."""
    around: Offsets = clock(moment - DAY_MS, moment + DAY_MS)
    ahead = sorted(around)[0][1] if around else 0
    day, rest = divmod(moment + ahead, DAY_MS)
    return day, rest == 0, len(around) <= 1


class _Reading:
    """Reads sums from the tables of figures, with the keys and filters of one question."""

    def __init__(
        self, store: Store, set_id: int, keys: Sequence[str], filters: UsageFilter, days: WholeDays
    ) -> None:
        self._store = store
        self._keys = keys
        self._filters = filters
        self._rates = RatesByKind(own_prices(store))
        self._kinds: dict[tuple[Any, ...], UsageKind] = {}
        self._given: dict[str, Any] = {"set_id": set_id}
        self._where = days.condition() + self._in_repos()

    def _in_repos(self) -> str:
        repos = self._filters.repos
        if repos is None:
            return ""
        named = {f"repo_{n}": repo for n, repo in enumerate(repos) if repo is not None}
        self._given |= named
        one_of = [f"g.repo in ({', '.join(f':{name}' for name in named)})"] if named else []
        none = ["g.repo is null"] if None in repos else []
        return f" and ({' or '.join(one_of + none) or '1 = 0'})"

    def add(self, sums: Sums, table: str, among: str, sign: int = 1) -> None:
        columns = [f"{_KEYS[name]} as key_{name}" for name in self._keys]
        sql = _CHARGES.format(
            keys=", ".join(columns) or "0",
            names=", ".join(str(n + 1) for n in range(len(columns) or 1)),
            table=table,
            join=_SESSION if "session" in self._keys else "",
            where=f"{self._where} {among}",
        )
        width = len(columns) or 1
        for row in self._store.db.all(sql, self._given):
            rate = self._rate(row[width : width + 5])
            if rate is not None:
                records, *figures = map(int, row[width + 5 :])
                amount = figures[-2] * MILLION + figures[-1]
                key = tuple(row[: len(columns)])
                _add(sums, key, rate, (records, *figures[:-2], amount), sign)

    def _rate(self, row: Row) -> Rate | None:
        """Return the rate of a row; None if the filter excludes its agent or model."""
        kind = self._kinds.get(row[:4])
        if kind is None:
            word = self._store.names.word
            flavor, model, speed, tier = row[:4]
            kind = UsageKind(flavor, word(model) or "", word(speed or None), word(tier or None))
            self._kinds[row[:4]] = kind
        if self._filters.kind is not None and not self._filters.kind(kind):
            return None
        return self._rates[kind][row[4]]


def _add(sums: Sums, key: tuple[Any, ...], rate: Rate, figures: Sequence[int], sign: int) -> None:
    known = sums.get((key, rate))
    if known is None:
        sums[key, rate] = [sign * figure for figure in figures]
    else:
        for place, figure in enumerate(figures):
            known[place] += sign * figure


def _on_days(store: Store, set_id: int, days: Iterable[int]) -> list[int]:
    """Return the ids of sessions with usage on these days, at most `MOST_COUNTED` + 1."""
    if not (among := sorted(days)):
        return []
    sql = _ON_DAYS.format(days=listed(among), limit=MOST_COUNTED + 1)
    return [row[0] for row in store.db.all(sql, {"set_id": set_id})]


def _count(
    store: Store,
    sums: Sums,
    sessions: Sequence[int],
    keys: Sequence[str],
    filters: UsageFilter,
    clock: Clock,
) -> None:
    """Add the charges of some sessions to the sums, from their usage records."""
    uids = [row[0] for row in store.db.matching(_UIDS, sessions)]
    for first in range(0, len(uids), _AT_ONCE):
        some = UsageFilter(
            since=filters.since,
            until=filters.until,
            uids=tuple(uids[first : first + _AT_ONCE]),
            repos=filters.repos,
            kind=filters.kind,
        )
        for one in counted_charges(store, keys, some, clock=clock):
            _add(sums, one.key, one.rate, (one.records, *one.buckets, one.microdollars), 1)
