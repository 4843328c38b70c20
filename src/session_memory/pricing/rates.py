"""The rates that the usage in a store is charged at: one for each price, time and size of context.

Every usage record falls under exactly one `Rate`; one without a price is a rate, too, so nothing
can drop out of a sum unseen.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fnmatch import fnmatchcase
from itertools import pairwise

import msgspec

from session_memory.core.money import OwnPrice
from session_memory.core.time import MAX_MS, MIN_MS, parse_time
from session_memory.pricing.models import meant_model
from session_memory.pricing.table import DAY_MS, FAST, STANDARD, Row, Table

ENDLESS = 1 << 60
TIERS = ("flex", "priority", "fast", "batch")
# What the program itself writes in the place of an answer was sent to no model.
FREE = frozenset({"<synthetic>"})
_NOTHING = Row("", 0, DAY_MS, 0, 0, 0, 0, 0, 0, 0)

OwnPrices = Mapping[str, OwnPrice]


class Kind(msgspec.Struct, frozen=True):
    """Usage that is charged alike: who logged which model, how fast, on which tier."""

    flavor: str
    model: str
    speed: str | None = None
    tier: str | None = None

    @property
    def label(self) -> str:
        """The model; fast mode is said where it is a reason to have no price."""
        return f"{self.model} ({FAST})" if self.speed == FAST else self.model


class Rate(msgspec.Struct, frozen=True):
    """``price`` holds from ``since`` to before ``until``, for ``above`` to ``below`` input tokens.

    Without a price the kind is unpriced. ``provider`` and ``listed`` say whose row it is.
    """

    kind: Kind
    price: Row | None
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
        """Whether it holds in a part of each day only."""
        return self.price is not None and self.price.day_to - self.price.day_from < DAY_MS

    @property
    def words(self) -> str:
        """The row and the rule, for an audit."""
        if self.price is None:
            return "no price"
        parts = [f"{self.provider}/{self.listed}" if self.listed else self.provider, self.rule]
        parts += [f"since {self.price.since}"] if self.price.since else []
        if self.price.above:
            parts.append(f"context of {self.price.above:,} tokens and more")
        if self.is_for_hours:
            parts.append(f"{_clock(self.price.day_from)}-{_clock(self.price.day_to)} UTC")
        return ", ".join(part for part in parts if part)


def rates_of(table: Table, own: OwnPrices, kinds: Iterable[Kind]) -> list[Rate]:
    """All rates of these kinds; those of one kind cover every moment and size once."""
    return [rate for kind in kinds for rate in _rates(table, own, kind)]


def _rates(table: Table, own: OwnPrices, kind: Kind) -> Iterator[Rate]:
    if kind.model in FREE:
        yield Rate(kind, _NOTHING, "nobody", rule="written by the agent itself")
        return
    told = _own(own, kind)
    if told is not None:
        yield told
        return
    meant = meant_model(table, kind.flavor, kind.model)
    tier = _tier(kind)
    if meant is None or (kind.speed == FAST and FAST not in meant.model.rows):
        yield Rate(kind, None)
        return
    rows = meant.model.rows.get(tier) or meant.model.rows[STANDARD]
    rule = f"{meant.rule}, {tier}" if tier in meant.model.rows and tier else meant.rule
    for row, until, below in _bounded(rows):
        since = _midnight(row.since) if row.since else MIN_MS
        yield Rate(kind, row, meant.provider.id, meant.model.id, rule, since, until, below)


def _tier(kind: Kind) -> str:
    if kind.speed == FAST:
        return FAST
    return kind.tier if kind.tier in TIERS else STANDARD


def _bounded(rows: tuple[Row, ...]) -> Iterator[tuple[Row, int, int]]:
    """Each row with the moment at which the next one's begins, and the size at which."""
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


def _own(own: OwnPrices, kind: Kind) -> Rate | None:
    """The first price of the user's own whose name or pattern the model matches."""
    for name, price in own.items():
        if fnmatchcase(kind.model.lower(), name.lower()):
            times = price.fast if kind.speed == FAST else 1.0
            return Rate(kind, _row(price, times), "config.toml", name, "your own price")
    return None


def _row(price: OwnPrice, times: float) -> Row:
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    hour = write if price.cache_write_1h is None else price.cache_write_1h
    dollars = (price.input, read, write, hour, price.output)
    given, reading, writing, hourly, output = (_picodollars(each, times) for each in dollars)
    search = _picodollars(price.web_searches, 1000)
    return Row("", 0, DAY_MS, 0, given, reading, writing, hourly, output, search)


def _picodollars(dollars: float, times: float) -> int:
    exact = Decimal(str(dollars)) * Decimal(str(times)) * 1_000_000
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def _midnight(day: str) -> int:
    return parse_time(f"{day}T00:00:00.000Z")


def _clock(ms: int) -> str:
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}"
