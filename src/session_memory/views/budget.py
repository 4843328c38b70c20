"""Spending of today and this month, compared with the user's limits."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, tzinfo
from typing import Any

import msgspec

from session_memory.core.money import Limits
from session_memory.core.time import format_time
from session_memory.pricing.amounts import Charge, UsageFilter, charges
from session_memory.pricing.figure_sets import keep_figures
from session_memory.store import Store
from session_memory.views.cost_days import day_of, offsets
from session_memory.views.cost_tally import CostTally
from session_memory.views.periods import period
from session_memory.views.used_prices import prices_used

NEAR = 0.8
MILLION = 1_000_000
_HOUR_MS = 3_600_000


class BudgetPeriod(msgspec.Struct, frozen=True):
    """A day or a month with its spending, its limit and a forecast, in micro-dollars.

    ``begins``, ``ends`` and ``now`` are milliseconds since 1970.
    """

    period: str
    begins: int
    ends: int
    now: int
    tally: CostTally
    limit: int | None

    @property
    def spent(self) -> int:
        return self.tally.microdollars

    @property
    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.spent

    @property
    def forecast(self) -> int:
        """The cost at the end of the period if spending continues at the same pace. In the first
        hour, the pace is computed as if an hour had passed."""
        passed = min(max(self.now - self.begins, _HOUR_MS), self.ends - self.begins)
        return self.spent * (self.ends - self.begins) // passed

    @property
    def state(self) -> str:
        """``over`` the limit, ``near`` (from 80 % of it), ``ok``, or ``unlimited``."""
        if self.limit is None:
            return "unlimited"
        if self.spent > self.limit:
            return "over"
        return "near" if self.spent >= NEAR * self.limit else "ok"

    def to_dict(self) -> dict[str, Any]:
        return {
            "period": self.period,
            "begins": format_time(self.begins),
            "ends": format_time(self.ends),
            "state": self.state,
            "limit_microdollars": self.limit,
            "spent_microdollars": self.spent,
            "left_microdollars": self.left,
            "forecast_microdollars": self.forecast,
            "unpriced_tokens": self.tally.unpriced_tokens,
        }


class Budget(msgspec.Struct, frozen=True):
    periods: list[BudgetPeriod]
    prices: dict[str, Any]

    @property
    def state(self) -> str:
        """The worst state of all periods."""
        states = {standing.state for standing in self.periods}
        return next((s for s in ("over", "near", "ok") if s in states), "unlimited")

    def to_dict(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "periods": [standing.to_dict() for standing in self.periods],
            "prices": self.prices,
        }


def budget(
    store: Store, limits: Limits, *, tz: tzinfo | None = None, now: datetime | None = None
) -> Budget:
    """Return the spending of today and of this month in the time zone ``tz``, beside ``limits``."""
    now = now or datetime.now(UTC)
    begins, ends = month_of(now, tz)
    filters = UsageFilter(since=begins, until=ends)
    if tz is None:
        keep_figures(store, offsets(None))
    found = charges(store, ("day",), filters, clock=offsets(tz))
    return Budget(list(periods(found, limits, tz, now)), prices_used(store))


def periods(
    found: list[Charge], limits: Limits, tz: tzinfo | None, now: datetime
) -> Iterator[BudgetPeriod]:
    """Yield the budget of today, then of this month. ``found`` are this month's charges by day."""
    today, at = now.astimezone(tz).date(), int(now.timestamp() * 1000)
    of_today = [charge for charge in found if _is_on(charge, today)]
    of_month = [charge for charge in found if _is_in_month(charge, today)]
    begins, ends = period(today.isoformat(), now, tz)
    yield BudgetPeriod("day", begins, ends, at, CostTally.of(of_today), _micro(limits.day))
    begins, ends = month_of(now, tz)
    yield BudgetPeriod("month", begins, ends, at, CostTally.of(of_month), _micro(limits.month))


def month_of(now: datetime, tz: tzinfo | None) -> tuple[int, int]:
    """Return the start of the month of ``now`` and of the next month, in milliseconds."""
    return period(now.astimezone(tz).strftime("%Y-%m"), now, tz)


def _is_on(charge: Charge, day: date) -> bool:
    return charge.key[0] is not None and day_of(charge.key[0]) == day


def _is_in_month(charge: Charge, day: date) -> bool:
    if charge.key[0] is None:
        return False
    spent = day_of(charge.key[0])
    return (spent.year, spent.month) == (day.year, day.month)


def _micro(limit: float | None) -> int | None:
    return None if limit is None else microdollars(limit)


def microdollars(dollars: float) -> int:
    return round(dollars * MILLION)
