"""Sum the spending of each day by model, repository, agent or outcome, and by kind of token.

All figures are sums of the same charges, so the parts of a day add up to its total exactly.
"""

from datetime import date, tzinfo

import msgspec

from session_memory.pricing.amounts import Charge, charges
from session_memory.pricing.figure_sets import keep_figures
from session_memory.store import Store
from session_memory.views.cost import CostFilter, usage_filter
from session_memory.views.cost_days import day_of, offsets
from session_memory.views.cost_tally import CostTally

SPLITS = ("model", "repo", "agent", "outcome")
PARTS = ("cache read", "output", "cache write", "cache write, 1 h", "input", "web searches")
_PICO = 1_000_000


class DaySpending(msgspec.Struct, frozen=True):
    """The spending of one day: micro-dollars by name of a model, repository, agent or outcome."""

    day: date
    parts: dict[str, int]

    @property
    def microdollars(self) -> int:
        return sum(self.parts.values())


class SpendingDays(msgspec.Struct, frozen=True):
    """The spending by day. ``names`` are the names of all parts, the highest cost first.
    ``undated`` is what was spent at an unknown time. ``made_of`` divides the total by kind of
    token."""

    days: list[DaySpending]
    names: list[str]
    totals: CostTally
    undated: int
    made_of: dict[str, int]


def spending_days(
    store: Store, *, split: str, since: int | None, until: int | None, tz: tzinfo | None = None
) -> SpendingDays:
    """Return the days with spending, in order. ``split`` says what divides a day: see `SPLITS`."""
    key = {"repo": ("repo",), "outcome": ("outcome",)}.get(split, ())
    if tz is None:
        keep_figures(store, offsets(None))
    with store.db.snapshot():
        usage = usage_filter(store, CostFilter(since=since, until=until))
        found = charges(store, ("day", *key), usage, clock=offsets(tz))
    days: dict[date, dict[str, int]] = {}
    sums: dict[str, int] = {}
    undated = 0
    for charge in found:
        name = _name(charge, split)
        sums[name] = sums.get(name, 0) + charge.microdollars
        if charge.key[0] is None:
            undated += charge.microdollars
            continue
        parts = days.setdefault(day_of(charge.key[0]), {})
        parts[name] = parts.get(name, 0) + charge.microdollars
    return SpendingDays(
        [DaySpending(day, days[day]) for day in sorted(days)],
        sorted(sums, key=lambda name: (-sums[name], name)),
        CostTally.of(found),
        undated,
        made_of(found),
    )


def _name(charge: Charge, split: str) -> str:
    match split:
        case "repo":
            return str(charge.key[1] or "no repository")
        case "agent":
            return charge.rate.kind.flavor
        case "outcome":
            return str(charge.key[1])
    return charge.rate.kind.model


def made_of(found: list[Charge]) -> dict[str, int]:
    """Divide the cost of charges by kind of token, the largest part first.

    A response is rounded once, so the difference by rounding is added to the largest part. The sum
    stays exact."""
    exact = dict.fromkeys(PARTS, 0)
    total = 0
    for charge in found:
        total += charge.microdollars
        if (price := charge.rate.price) is None:
            continue
        uncached, output, read, written, written_1h, _, searches = charge.buckets
        exact["input"] += uncached * price.input
        exact["output"] += output * price.output
        exact["cache read"] += read * price.cache_read
        exact["cache write"] += (written - written_1h) * price.cache_write
        exact["cache write, 1 h"] += written_1h * price.cache_write_1h
        exact["web searches"] += searches * (price.search or 0)
    parts = {name: value // _PICO for name, value in exact.items()}
    largest = max(exact, key=lambda name: exact[name])
    parts[largest] += total - sum(parts.values())
    return dict(sorted(((n, v) for n, v in parts.items() if v), key=lambda part: -part[1]))
