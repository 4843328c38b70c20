"""Compute and store figures: what each session cost on each day, so that reports are quick.

Figures depend on prices and on a time zone. Both are part of the name of a set of figures, so a set
whose prices have changed is never used. Small stores have no figures, because their reports are
quick without them.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec

from session_memory.core.errors import StoreBusy
from session_memory.core.time import now_ms
from session_memory.pricing.counted import MILLION, Charge, Clock, UsageFilter, counted_charges
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.rates import OwnPrices, Rate, UsageKind, rates_of
from session_memory.pricing.table import price_table
from session_memory.store import Store
from session_memory.store.figures import (
    NO_DAY,
    FiguredSession,
    FigureSet,
    KeptCost,
    SpendingRow,
)

# Raise this number if the code changes so that the same prices give other figures, or if figures
# are stored in another form.
VERSION = 1
LEAST_SESSIONS = 2_000
"""A store with fewer sessions gets no figures: each report counts its usage."""
FEW_MARKS = 100
"""Up to this many changed sessions are counted by each report. If more have changed, their figures
are computed and stored."""
_PIECE = 1000
_DAYS_AT_ONCE = 30
# Zones have no known rules outside of these years.
_FIRST_MS, _LAST_MS = 946_684_800_000, 4_102_444_800_000


def prices_name(store: Store) -> str:
    """Return a name for the prices in use: a hash of the price table and the user's own prices."""
    return _prices_name(msgspec.json.encode(own_prices(store)))


@lru_cache(maxsize=8)
def _prices_name(own: bytes) -> str:
    table = price_table()
    known = msgspec.json.encode([VERSION, table.digest, table.made]) + own
    return sha256(known).hexdigest()[:24]


def zone_name(clock: Clock) -> str:
    """Return a name for a time zone. Zones whose days begin at the same times have one name."""
    found = list(clock(_FIRST_MS, _LAST_MS))
    return sha256(msgspec.json.encode(found)).hexdigest()[:24]


def figure_set(store: Store, clock: Clock) -> FigureSet | None:
    """Return the set of figures for the prices in use and this time zone, if there is one."""
    sets = store.figures.sets()
    if not sets:
        return None
    prices, zone = prices_name(store), zone_name(clock)
    return next((one for one in sets if (one.prices, one.zone) == (prices, zone)), None)


def keep_figures(store: Store, clock: Clock) -> None:
    """Make the set of figures if it is missing, and update it if many sessions have changed.

    Call it before a question about the cost of all sessions, outside of a snapshot. In a small
    store, or one that cannot be written now, it does nothing; then the question is answered from
    the usage records.
    """
    db = store.db
    if db.in_transaction or store.sessions.count() < LEAST_SESSIONS or db.is_read_only:
        return
    found = figure_set(store, clock)
    if found is not None and len(store.figures.marked(found.id, FEW_MARKS + 1)) <= FEW_MARKS:
        return
    if store.figures.make_elsewhere is not None:
        store.figures.make_elsewhere()
        return
    try:
        if found is None:
            prices, zone = prices_name(store), zone_name(clock)
            with db.transaction():
                found = figure_set(store, clock) or store.figures.add_set(prices, zone, now_ms())
        count_marked(store, found, clock)
    except StoreBusy:
        # Another process writes for a long time. This question is answered without figures.
        return


def count_marked(store: Store, of: FigureSet, clock: Clock) -> None:
    """Store the figures of all sessions that have changed, in short transactions."""
    days: set[int] = set()
    while store.figures.marked(of.id, 1):
        with store.db.transaction():
            ids = store.figures.marked(of.id, _PIECE)
            sessions = store.figures.sessions(ids)
            rows, costs = figures_of(store, sessions, clock)
            days |= store.figures.replace(of.id, sessions, ids, rows, costs)
    waiting = sorted(days)
    for first in range(0, len(waiting), _DAYS_AT_ONCE):
        with store.db.transaction():
            store.figures.join_days(of.id, waiting[first : first + _DAYS_AT_ONCE])


def figures_of(
    store: Store, sessions: Sequence[FiguredSession], clock: Clock
) -> tuple[list[SpendingRow], list[KeptCost]]:
    """Compute figures of some sessions from their usage: by day, and the sum of each session."""
    by_uid = {one.uid: one.id for one in sessions}
    wanted = UsageFilter(uids=tuple(by_uid))
    found = counted_charges(store, ("session", "day"), wanted, clock=clock)
    rates = RatesByKind(own_prices(store))
    rows = [_row(store, by_uid[str(one.key[0])], one, rates) for one in found]
    sums = dict.fromkeys(by_uid.values(), (0, 0))
    for one in found:
        session_id = by_uid[str(one.key[0])]
        amount, unpriced = sums[session_id]
        sums[session_id] = amount + one.microdollars, unpriced + one.unpriced_tokens
    return rows, [KeptCost(one, *amounts) for one, amounts in sums.items()]


def _row(store: Store, session_id: int, charge: Charge, rates: "RatesByKind") -> SpendingRow:
    kind, day = charge.rate.kind, charge.key[1]
    place = rates[kind].index(charge.rate)
    amount = divmod(charge.microdollars, MILLION)
    figures = (*kind_ids(store, kind), place, charge.records, *charge.buckets, *amount)
    return SpendingRow(session_id, NO_DAY if day is None else day, figures)


def kind_ids(store: Store, kind: UsageKind) -> tuple[int, int, int]:
    """Return the ids under which the store knows a kind's model, speed and service tier."""
    number = store.names.numbers
    return number[kind.model] or 0, number[kind.speed] or 0, number[kind.tier] or 0


class RatesByKind(dict[UsageKind, list[Rate]]):
    """Maps each kind of usage to all its rates, computed on first use.

    A stored figure has the index of its rate in this list.
    """

    def __init__(self, own: OwnPrices) -> None:
        super().__init__()
        self._own = own

    def __missing__(self, kind: UsageKind) -> list[Rate]:
        self[kind] = rates_of(price_table(), self._own, (kind,))
        return self[kind]
