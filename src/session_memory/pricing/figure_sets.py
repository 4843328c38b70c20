"""Computes what sessions cost on each day, and stores it so that reports need not add it up.

Figures depend on prices and on a time zone. Both are part of the name of a set of figures, so that
a set whose prices have changed is never used. Small stores need no figures: counting is as quick.
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

# Raise it if the same prices give other figures, or figures of another form.
VERSION = 1
LEAST_SESSIONS = 2_000
"""In a smaller store everything is counted when it is needed."""
FEW_MARKS = 100
"""So many changed sessions are counted by each reader. More are written."""
_PIECE = 1000
_DAYS_AT_ONCE = 30
# Zones have no known rules outside of these years.
_FIRST_MS, _LAST_MS = 946_684_800_000, 4_102_444_800_000


def prices_name(store: Store) -> str:
    """A name for the prices that amounts are made with now."""
    return _prices_name(msgspec.json.encode(own_prices(store)))


@lru_cache(maxsize=8)
def _prices_name(own: bytes) -> str:
    table = price_table()
    known = msgspec.json.encode([VERSION, table.digest, table.made]) + own
    return sha256(known).hexdigest()[:24]


def zone_name(clock: Clock) -> str:
    """A name for where days begin. Zones with the same days have the same name."""
    found = list(clock(_FIRST_MS, _LAST_MS))
    return sha256(msgspec.json.encode(found)).hexdigest()[:24]


def figure_set(store: Store, clock: Clock) -> FigureSet | None:
    """The set of figures with the present prices and days, if there is one."""
    sets = store.figures.sets()
    if not sets:
        return None
    prices, zone = prices_name(store), zone_name(clock)
    return next((one for one in sets if (one.prices, one.zone) == (prices, zone)), None)


def keep_figures(store: Store, clock: Clock) -> None:
    """Make the set of figures if it is missing, and count the sessions that have changed.

    Call it before a question about the cost of all sessions, outside of a snapshot. In a small
    store, or one that cannot be written now, nothing happens, and the question is answered all the
    same: by counting.
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
        # Somebody writes for a long time. The answer is counted this time.
        return


def count_marked(store: Store, of: FigureSet, clock: Clock) -> None:
    """Write the figures of all sessions that have changed, in short transactions."""
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
    """The figures of some sessions, counted from their usage."""
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
    """The numbers of a kind's model, speed and service tier."""
    number = store.names.numbers
    return number[kind.model] or 0, number[kind.speed] or 0, number[kind.tier] or 0


class RatesByKind(dict[UsageKind, list[Rate]]):
    """All rates of a kind of usage. A kept figure has the place of its rate among them."""

    def __init__(self, own: OwnPrices) -> None:
        super().__init__()
        self._own = own

    def __missing__(self, kind: UsageKind) -> list[Rate]:
        self[kind] = rates_of(price_table(), self._own, (kind,))
        return self[kind]
