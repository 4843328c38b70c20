"""Compute the rates of usage. A rate is a price with the time and the context sizes it applies to.

Every usage record has exactly one `Rate`. Usage without a price has a rate too, so that no usage
is missing in a sum.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fnmatch import fnmatchcase
from itertools import pairwise

import msgspec

from session_memory.core.money import OwnPrice
from session_memory.core.time import MAX_MS, MIN_MS, parse_time
from session_memory.pricing.models import match_model
from session_memory.pricing.table import DAY_MS, FAST, STANDARD, PriceRow, PriceTable

ENDLESS = 1 << 60
TIERS = ("flex", "priority", "fast", "batch")
# Answers that the agent wrote itself. No model was used, so they are free.
FREE = frozenset({"<synthetic>"})
_NOTHING = PriceRow("", 0, DAY_MS, 0, 0, 0, 0, 0, 0, 0)

OwnPrices = Mapping[str, OwnPrice]


class UsageKind(msgspec.Struct, frozen=True):
    """What decides the price of usage: agent, model, speed and service tier."""

    flavor: str
    model: str
    speed: str | None = None
    tier: str | None = None

    @property
    def label(self) -> str:
        """The model's name, with "(fast)" for fast mode."""
        return f"{self.model} ({FAST})" if self.speed == FAST else self.model


class Rate(msgspec.Struct, frozen=True):
    """A price for one kind of usage, with the times and context sizes it applies to.

    It applies from ``since`` until before ``until``, to contexts of at least ``above`` and less
    than ``below`` input tokens. ``price`` is None if the kind has no price. ``provider`` and
    ``listed`` name the row of the price table, ``rule`` says how the model's name was matched.
    """

    kind: UsageKind
    price: PriceRow | None
    provider: str = ""
    listed: str = ""
    rule: str = ""
    since: int = MIN_MS
    until: int = MAX_MS + 1
    below: int = ENDLESS

    @property
    def above(self) -> int:
        return 0 if self.price is None else self.price.above

    @property
    def is_for_hours(self) -> bool:
        """Whether the rate applies only at some hours of the day."""
        return self.price is not None and self.price.day_to - self.price.day_from < DAY_MS

    @property
    def words(self) -> str:
        """The rate as text for an audit: the price row and the rule."""
        if self.price is None:
            return "no price"
        parts = [f"{self.provider}/{self.listed}" if self.listed else self.provider, self.rule]
        parts += [f"since {self.price.since}"] if self.price.since else []
        if self.price.above:
            parts.append(f"context of {self.price.above:,} tokens and more")
        if self.is_for_hours:
            parts.append(f"{_clock(self.price.day_from)}-{_clock(self.price.day_to)} UTC")
        return ", ".join(part for part in parts if part)


def rates_of(table: PriceTable, own: OwnPrices, kinds: Iterable[UsageKind]) -> list[Rate]:
    """Return all rates of these kinds of usage.

    For each kind, exactly one rate applies at any time and context size.
    """
    return [rate for kind in kinds for rate in _rates(table, own, kind)]


def _rates(table: PriceTable, own: OwnPrices, kind: UsageKind) -> Iterator[Rate]:
    if kind.model in FREE:
        yield Rate(kind, _NOTHING, "nobody", rule="written by the agent itself")
        return
    own_rate = _own(own, kind)
    if own_rate is not None:
        yield own_rate
        return
    matched = match_model(table, kind.flavor, kind.model)
    tier = _tier(kind)
    if matched is None or (kind.speed == FAST and FAST not in matched.model.rows):
        yield Rate(kind, None)
        return
    rows = matched.model.rows.get(tier) or matched.model.rows[STANDARD]
    rule = f"{matched.rule}, {tier}" if tier in matched.model.rows and tier else matched.rule
    for row, until, below in _bounded(rows):
        since = _midnight(row.since) if row.since else MIN_MS
        yield Rate(kind, row, matched.provider.id, matched.model.id, rule, since, until, below)


def _tier(kind: UsageKind) -> str:
    if kind.speed == FAST:
        return FAST
    return kind.tier if kind.tier in TIERS else STANDARD


def _bounded(rows: tuple[PriceRow, ...]) -> Iterator[tuple[PriceRow, int, int]]:
    """Yield each row with the time and the context size at which the next row starts."""
    days = list(dict.fromkeys(row.since for row in rows))
    ends = {day: _midnight(after) for day, after in pairwise(days)}
    for row in rows:
        beside = [
            other.above
            for other in rows
            if (other.since, other.day_from) == (row.since, row.day_from)
            and other.above > row.above
        ]
        yield row, ends.get(row.since, MAX_MS + 1), min(beside, default=ENDLESS)


def _own(own: OwnPrices, kind: UsageKind) -> Rate | None:
    """Return the user's first own price whose name or pattern matches the model, or None."""
    for name, price in own.items():
        if fnmatchcase(kind.model.lower(), name.lower()):
            times = price.fast if kind.speed == FAST else 1.0
            return Rate(kind, _row(price, times), "config.toml", name, "your own price")
    return None


def _row(price: OwnPrice, times: float) -> PriceRow:
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    hour = write if price.cache_write_1h is None else price.cache_write_1h
    dollars = (price.input, read, write, hour, price.output)
    given, reading, writing, hourly, output = (_picodollars(each, times) for each in dollars)
    search = _picodollars(price.web_searches, 1000)
    return PriceRow("", 0, DAY_MS, 0, given, reading, writing, hourly, output, search)


def _picodollars(dollars: float, times: float) -> int:
    exact = Decimal(str(dollars)) * Decimal(str(times)) * 1_000_000
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def _midnight(day: str) -> int:
    return parse_time(f"{day}T00:00:00.000Z")


def _clock(ms: int) -> str:
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}"
