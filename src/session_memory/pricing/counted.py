"""Compute the cost of usage inside the database, from every usage record.

The amount of a usage record is an integer of micro-dollars: tokens times prices in picodollars,
summed exactly and rounded once, half a micro-dollar upwards. Every total is a sum of these
integers, so every way of grouping the same usage gives the same total.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from session_memory.core.time import parse_time
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.rates import OwnPrices, Rate, UsageKind, rates_of
from session_memory.pricing.table import DAY_MS, price_table
from session_memory.pricing.table import PriceRow as Price
from session_memory.store import Store
from session_memory.store.database import Row
from session_memory.store.usage import BUCKETS

MILLION = 1_000_000
HOUR_MS = 3_600_000
# A number of days that makes every day positive, because SQL division rounds towards zero.
_EARLIER = 720_000

# The tokens that are charged, each with the column of its price.
_CHARGED = (
    ("u.input_tokens", "r.input"),
    ("u.cache_read_tokens", "r.cache_read"),
    ("(u.cache_write_tokens - u.cache_write_1h_tokens)", "r.cache_write"),
    ("u.cache_write_1h_tokens", "r.cache_write_1h"),
    ("u.output_tokens", "r.output"),
    ("u.web_searches", "r.search"),
)
# Tokens are split into millions and a rest before they are multiplied, so that even 2^40 tokens do
# not overflow 64 bits. A price in picodollars per token is the same number in micro-dollars per
# million tokens.
_WHOLE = " + ".join(f"{tokens} / {MILLION} * {price}" for tokens, price in _CHARGED)
_REST = " + ".join(f"{tokens} % {MILLION} * {price}" for tokens, price in _CHARGED)
_MICRODOLLARS = f"{_WHOLE} + ({_REST} + {MILLION // 2}) / {MILLION}"
_CONTEXT = "u.input_tokens + u.cache_read_tokens + u.cache_write_tokens"
_TIME = "coalesce(u.ts, s.started_at, s.ended_at)"
_SESSION_TIME = "coalesce(s.started_at, s.ended_at)"
# Usage without a time is charged with the prices of the day the table was made.
_AT = f"coalesce({_TIME}, :undated)"
_DAY_PART = f"({_AT} + {_EARLIER * DAY_MS}) % {DAY_MS}"
_USAGE = "from usage u join sessions s on s.id = u.owner_id"
_KINDS = f"""
    select distinct s.flavor, u.model, coalesce(u.speed, 0), coalesce(u.service_tier, 0)
    {_USAGE} {{where}}
"""
# A separate query, because one query grouped by kind would take twice as long as both.
_SPAN = f"select min({_AT}), max({_AT}), max({_CONTEXT}) {_USAGE} {{where}}"
# Adding 0 removes the column's affinity, so that SQLite uses an automatic index on the rates
# instead of trying each rate.
_CHARGES = f"""
    with rates (rate, flavor, model, speed, tier, since, until, day_from, day_to, above, below,
        input, cache_read, cache_write, cache_write_1h, output, search) as (values {{rates}}),
    charged as materialized (
        select {{keys}}, r.rate, {", ".join(f"u.{name}" for name in BUCKETS)},
            {_MICRODOLLARS} as microdollars
        {_USAGE} join rates r on r.model = u.model + 0 and r.flavor = s.flavor
            and r.speed = coalesce(u.speed, 0) and r.tier = coalesce(u.service_tier, 0)
            and {_AT} >= r.since and {_AT} < r.until
            and {_CONTEXT} >= r.above and {_CONTEXT} < r.below {{hours}}
        {{where}}
    )
    select {{names}}, rate, count(*), {", ".join(f"sum({name})" for name in BUCKETS)},
        sum(microdollars / {MILLION}), sum(microdollars % {MILLION})
    from charged group by {{names}}, rate
"""
_HOURS = f"and {_DAY_PART} >= r.day_from and {_DAY_PART} < r.day_to"
_KEYS = {
    "day": f"({_TIME} + {{shift}} + {_EARLIER * DAY_MS}) / {DAY_MS} - {_EARLIER}",
    "hour": f"({_TIME} + {_EARLIER * DAY_MS}) / {HOUR_MS} - {_EARLIER * 24}",
    "session": "s.uid",
    "repo": "s.repo",
    # A session that was not analyzed has no known outcome.
    "outcome": "case when s.analyzed_at is null then 'unknown' else s.outcome end",
    "usage": "u.usage_id",
    "seq": "u.seq",
    "reported": "u.reported_cost",
}
_ACTIVE = f"select distinct {_KEYS['hour']} as hour {_USAGE} where {{when}} order by hour"
_EVER = _ACTIVE.format(when=f"{_TIME} is not null")
# Two conditions instead of one, so that the index on the times of usage finds recent usage.
_RECENTLY = _ACTIVE.format(when=f"u.ts >= :since or u.ts is null and {_SESSION_TIME} >= :since")
_ANY_UNDATED = "select 1 from usage u where u.ts is null limit 1"
_NEXT_HOUR = _KEYS["hour"].replace(
    _TIME,
    """(
        select u.ts from usage u
        where u.ts >= {since} and u.ts < :until and u.owner_id is not null
        order by u.ts limit 1
    )""",
)
# Each step looks up the next hour with usage in the index on the times of usage. So the cost
# depends on the number of hours, not on the number of records.
_STEPS = f"""
    with recursive steps (hour) as (
        select {_NEXT_HOUR.format(since=":since")}
        union all
        select {_NEXT_HOUR.format(since=f"(b.hour + :apart) * {HOUR_MS}")}
        from steps b where b.hour is not null
    )
    select hour from steps where hour is not null order by hour
"""
_UNPRICED = Price("", 0, DAY_MS, 0, 0, 0, 0, 0, 0, 0)

Offsets = Sequence[tuple[int, int]]
Clock = Callable[[int, int], Offsets]
KindKey = tuple[str, int, int, int]


class Charge(msgspec.Struct, frozen=True):
    """The sum of usage that has the same rate and the same keys, with its cost.

    ``key`` has the values of the keys, in their order. ``buckets`` are the sums of the columns in
    `BUCKETS`.
    """

    key: tuple[Any, ...]
    rate: Rate
    records: int
    buckets: tuple[int, ...]
    microdollars: int

    @property
    def tokens(self) -> int:
        """Input, output, cache reads and cache writes.

        The other buckets are parts of these, except for the number of web searches.
        """
        input_tokens, output, read, written, *_ = self.buckets
        return input_tokens + output + read + written

    @property
    def unpriced_tokens(self) -> int:
        return self.tokens if self.rate.price is None else 0

    @property
    def unpriced_searches(self) -> int:
        """Web searches without a known fee."""
        known = self.rate.price is not None and self.rate.price.search is not None
        return 0 if known else self.buckets[-1]


class UsageFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects usage records; None means no limit. ``until`` is not included.

    ``has_reported_cost``: only records for which the agent logged a cost itself.
    """

    since: int | None = None
    until: int | None = None
    uids: tuple[str, ...] | None = None
    repos: tuple[str | None, ...] | None = None
    kind: Callable[[UsageKind], bool] | None = None
    has_reported_cost: bool = False


def counted_charges(
    store: Store,
    keys: Sequence[str] = (),
    filters: UsageFilter | None = None,
    *,
    own: OwnPrices | None = None,
    clock: Clock | None = None,
) -> list[Charge]:
    """Return the same as `session_memory.pricing.amounts.charges`, from the usage records alone."""
    filters = filters or UsageFilter()
    where, params = _where(filters)
    params["undated"] = parse_time(f"{price_table().made}T00:00:00.000Z")
    with store.db.snapshot():
        span = store.db.one(_SPAN.format(where=where), params)
        if span is None or span[0] is None:
            return []
        known = store.db.all(_KINDS.format(where=where), params)
        prices = own_prices(store) if own is None else own
        rates = list(_rates(store, filters, prices, known, span))
        if not rates:
            return []
        shift = _shift(clock(span[0], span[1]) if clock else ())
        columns = {f"key_{name}": _KEYS[name].format(shift=shift) for name in keys}
        sql = _CHARGES.format(
            rates=", ".join(_values(number, *rate) for number, rate in enumerate(rates)),
            keys=", ".join(f"{text} as {name}" for name, text in columns.items()) or "0 as key_no",
            names=", ".join(columns) or "key_no",
            hours=_HOURS if any(rate.is_for_hours for _, rate in rates) else "",
            where=where,
        )
        params |= {f"flavor_{n}": flavor for n, ((flavor, *_), _) in enumerate(rates)}
        rows = store.db.all(sql, params)
    return [_charge(row, len(keys), rates) for row in rows]


def _charge(row: Row, keys: int, rates: list[tuple[KindKey, Rate]]) -> Charge:
    number, records, *figures = row[keys or 1 :]
    *buckets, dollars, rest = map(int, figures)
    total = dollars * MILLION + rest
    return Charge(tuple(row[:keys]), rates[number][1], records, tuple(buckets), total)


def _rates(
    store: Store, filters: UsageFilter, own: OwnPrices, known: list[Row], span: Row
) -> Iterator[tuple[KindKey, Rate]]:
    """Yield the rates that can apply to the usage, each with the ids of its agent and model.

    ``span`` has the first and the last time of the usage, and the largest context.
    """
    word, (first, last, most) = store.names.word, span
    for flavor, model, speed, tier in known:
        kind = UsageKind(flavor, word(model) or "", word(speed or None), word(tier or None))
        if filters.kind is None or filters.kind(kind):
            for rate in rates_of(price_table(), own, (kind,)):
                if rate.since <= last and first < rate.until and rate.above <= most:
                    yield (flavor, model, speed, tier), rate


def _values(number: int, known: KindKey, rate: Rate) -> str:
    """Return a rate as a row of SQL values: integers, and a parameter for the flavor."""
    price = rate.price or _UNPRICED
    bounds = (rate.since, rate.until, price.day_from, price.day_to, price.above, rate.below)
    prices = (price.input, price.cache_read, price.cache_write, price.cache_write_1h, price.output)
    figures = (*known[1:], *bounds, *prices, price.search or 0)
    text = ", ".join(f"cast({int(figure)} as bigint)" for figure in figures)
    return f"({number}, :flavor_{number}, {text})"


def _shift(offsets: Offsets) -> str:
    """Return SQL for the offset from UTC at a record's time.

    The first offset also applies to earlier times.
    """
    if not offsets:
        return "0"
    (_, first), *later = sorted(offsets)
    cases = " ".join(f"when {_TIME} >= {moment} then {ahead}" for moment, ahead in reversed(later))
    return f"case {cases} else {first} end" if cases else str(first)


def active_hours(store: Store, last: int, since: int | None = None, apart: int = 1) -> list[int]:
    """Return the hours with any usage, in order, none after the hour ``last``.

    Hours are in UTC and counted from 1970. ``since`` is in milliseconds. An hour less than
    ``apart`` hours after a returned one may be left out, which is faster.
    """
    db = store.db
    if db.one(_ANY_UNDATED) is None:
        first = -_EARLIER * DAY_MS if since is None else since
        steps = {"since": first, "until": (last + 1) * HOUR_MS, "apart": apart}
        return [hour for (hour,) in db.all(_STEPS, steps)]
    rows = db.all(_EVER) if since is None else db.all(_RECENTLY, {"since": since})
    return [hour for (hour,) in rows if hour <= last]


def _where(filters: UsageFilter) -> tuple[str, dict[str, Any]]:
    conditions: list[str] = []
    params: dict[str, Any] = {}
    period: list[str] = []
    for name, sign in (("since", ">="), ("until", "<")):
        if (moment := getattr(filters, name)) is not None:
            period.append(f"{{of}} {sign} :{name}")
            params[name] = moment
    if period:
        # Two cases, so that a database finds the usage of a period by the index of times.
        within = " and ".join(period)
        dated, undated = within.format(of="u.ts"), within.format(of=_SESSION_TIME)
        conditions.append(f"({dated} or u.ts is null and {undated})")
    if filters.has_reported_cost:
        conditions.append("u.reported_cost is not null")
    for name, values in (("uid", filters.uids), ("repo", filters.repos)):
        if values is not None:
            named = {f"{name}_{n}": value for n, value in enumerate(values) if value is not None}
            params |= named
            one_of = [f"s.{name} in ({', '.join(f':{mark}' for mark in named)})"] if named else []
            none = [f"s.{name} is null"] if None in values else []
            conditions.append(f"({' or '.join(one_of + none) or '1 = 0'})")
    return f"where {' and '.join(conditions)}" if conditions else "", params
