"""What was spent, by day, week, month, block, model, repo, flavor or session.

Every figure is a sum of what `session_memory.pricing` charged for single records, so any way of
grouping the same usage has the same total.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

import msgspec

from session_memory.core.time import now_ms
from session_memory.pricing.amounts import Asked, Charge, charges
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.rates import Kind, Rate, rates_of
from session_memory.pricing.sessions import (
    Amount,
    family,
    known_repos,
    session_facts,
    subagents,
)
from session_memory.pricing.table import price_table
from session_memory.store import Store
from session_memory.store.usage import BUCKETS
from session_memory.views.cost_days import (
    BLOCK_HOURS,
    HOUR_MS,
    block_starts,
    day_of,
    hour_time,
    offsets,
    week_of,
)
from session_memory.views.matching import is_like, names_model

# What is asked of the database for each way of grouping; models and flavors are in every charge.
_KEYS: dict[str, tuple[str, ...]] = {
    "day": ("day",),
    "week": ("day",),
    "month": ("day",),
    "block": ("hour",),
    "model": (),
    "repo": ("repo",),
    "flavor": (),
    "session": ("session",),
}
GROUPINGS = tuple(_KEYS)
IN_TIME = ("day", "week", "month", "block")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which usage; ``flavor`` and ``repo`` are names or patterns, ``model`` matches anywhere.

    ``session`` is a uid, and takes its subagents along.
    """

    by: str = "day"
    since: int | None = None
    until: int | None = None
    tz: tzinfo | None = None
    flavor: str | None = None
    repo: str | None = None
    model: str | None = None
    session: str | None = None

    def admits(self, kind: Kind) -> bool:
        return is_like(kind.flavor, self.flavor) and names_model(kind.model, self.model)


class Tally:
    """Charges added up."""

    def __init__(self, some: Iterable[Charge] = ()) -> None:
        self.buckets = [0] * len(BUCKETS)
        self.microdollars = 0
        self.unpriced_tokens = 0
        self.responses = 0
        for charge in some:
            self.add(charge)

    def add(self, charge: Charge) -> None:
        self.buckets = [a + b for a, b in zip(self.buckets, charge.buckets, strict=True)]
        self.microdollars += charge.microdollars
        self.unpriced_tokens += charge.unpriced_tokens
        self.responses += charge.records

    @property
    def amount(self) -> Amount:
        return Amount(self.microdollars, self.unpriced_tokens)

    @property
    def dollars(self) -> Decimal:
        return self.amount.dollars

    @property
    def tokens(self) -> int:
        return sum(self.buckets[:4])

    def to_dict(self) -> dict[str, Any]:
        return {
            **dict(zip(BUCKETS, self.buckets, strict=True)),
            "responses": self.responses,
            "microdollars": self.microdollars,
            "unpriced_tokens": self.unpriced_tokens,
        }


class CostRow(msgspec.Struct, frozen=True):
    """``key`` is the day, the model, the uid, …; ``None`` where the usage has none."""

    key: str | None
    tally: Tally
    models: list[str]
    about: dict[str, Any] = {}

    @property
    def dollars(self) -> Decimal:
        return self.tally.dollars

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key, **self.tally.to_dict(), "models": self.models, **self.about}


class CostReport(msgspec.Struct, frozen=True):
    by: str
    totals: Tally
    rows: list[CostRow]
    unpriced: list[dict[str, Any]]
    prices: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "totals": self.totals.to_dict(),
            "by": self.by,
            "rows": [row.to_dict() for row in self.rows],
            "unpriced": self.unpriced,
            "prices": self.prices,
        }


def cost_report(store: Store, wanted: Wanted, *, now: int | None = None) -> CostReport:
    """Time in its order, everything else dearest first."""
    with store.db.snapshot():
        found = charges(store, _KEYS[wanted.by], _asked(store, wanted), clock=offsets(wanted.tz))
        rows = list(_rows(found, wanted.by))
        if wanted.by == "session":
            rows = _with_subagents(store, rows, wanted.session)
    if wanted.by == "block":
        rows = [_block(row, now_ms() if now is None else now) for row in rows]
    return CostReport(wanted.by, Tally(found), rows, _unpriced(found), prices_used(store))


class PriceRows(msgspec.Struct, frozen=True):
    """What the models in a store are charged at."""

    rates: list[Rate]
    prices: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [_price_row(rate) for rate in self.rates], "prices": self.prices}


def price_rows(store: Store, wanted: Wanted) -> PriceRows:
    """Every rate of every kind of usage that is there, whether or not anything fell under it."""
    with store.db.snapshot():
        used = {charge.rate.kind for charge in charges(store, (), _asked(store, wanted))}
    order = sorted(used, key=lambda kind: (kind.model, kind.flavor, kind.label, kind.tier or ""))
    return PriceRows(rates_of(price_table(), own_prices(store), order), prices_used(store))


def _price_row(rate: Rate) -> dict[str, Any]:
    """Prices are picodollars for a token: millionths of a dollar for a million of them."""
    price = rate.price
    return {
        **msgspec.to_builtins(rate.kind),
        "unpriced": price is None,
        "provider": rate.provider or None,
        "listed": rate.listed or None,
        "rule": rate.rule or None,
        **({} if price is None else msgspec.structs.asdict(price)),
    }


def prices_used(store: Store) -> dict[str, Any]:
    """Which table a report was made with; ``own`` names the prices of the user's that go first."""
    table = price_table()
    own = sorted(own_prices(store))
    return {"version": table.version, "digest": table.digest, "own": own}


def _asked(store: Store, wanted: Wanted) -> Asked:
    uids = repos = None
    if wanted.session is not None:
        uids = tuple(family(wanted.session, subagents(store)))
    if wanted.repo is not None:
        repos = tuple(repo for repo in known_repos(store) if is_like(repo, wanted.repo))
    return Asked(since=wanted.since, until=wanted.until, uids=uids, repos=repos, kind=wanted.admits)


def _rows(found: list[Charge], by: str) -> Iterator[CostRow]:
    name = _naming(found, by)
    parts: dict[str | None, list[Charge]] = {}
    for charge in found:
        parts.setdefault(name(charge), []).append(charge)
    tallies = {key: Tally(some) for key, some in parts.items()}

    def place(key: str | None) -> tuple[bool, int, str]:
        dearest = 0 if by in IN_TIME else -tallies[key].microdollars
        return key is None, dearest, key or ""

    for key in sorted(parts, key=place):
        yield CostRow(key, tallies[key], sorted({charge.rate.kind.model for charge in parts[key]}))


def _naming(found: list[Charge], by: str) -> Callable[[Charge], str | None]:
    match by:
        case "model":
            return lambda charge: charge.rate.kind.model
        case "flavor":
            return lambda charge: charge.rate.kind.flavor
        case "repo" | "session":
            return lambda charge: _text(charge.key[0])
        case "block":
            blocks = _blocks(found)
            return lambda charge: blocks.get(charge.key[0])
    day = _DAYS[by]
    return lambda charge: None if charge.key[0] is None else day(charge.key[0])


_DAYS: dict[str, Callable[[int], str]] = {
    "day": lambda number: day_of(number).isoformat(),
    "week": lambda number: week_of(day_of(number)),
    "month": lambda number: day_of(number).isoformat()[:7],
}


def _blocks(found: list[Charge]) -> dict[int | None, str]:
    hours = sorted({charge.key[0] for charge in found if charge.key[0] is not None})
    starts = set(block_starts(hours))
    blocks: dict[int | None, str] = {}
    start = 0
    for hour in hours:
        start = hour if hour in starts else start
        blocks[hour] = hour_time(start)
    return blocks


def _block(row: CostRow, now: int) -> CostRow:
    """When it ends; if that is still to come, what it will have cost at this pace."""
    if row.key is None:
        return row
    start = int(datetime.fromisoformat(row.key).timestamp() * 1000)
    end = start + BLOCK_HOURS * HOUR_MS
    about: dict[str, Any] = {"ends": hour_time(end // HOUR_MS), "is_active": start <= now < end}
    if about["is_active"]:
        # No pace can be told from the first minutes.
        spent = max(now - start, HOUR_MS // 12)
        about["forecast_microdollars"] = row.tally.microdollars * (end - start) // spent
    return msgspec.structs.replace(row, about=about)


def _with_subagents(store: Store, rows: list[CostRow], root: str | None) -> list[CostRow]:
    """Each session's own usage, and beside it that of the whole tree below, as far as asked for.

    A session that used nothing itself, but whose subagents did, is listed for their sake, unless
    it is above the ``root`` that was asked for.
    """
    below, facts = subagents(store), session_facts(store)
    own = {str(row.key): row for row in rows}
    parents = {child: parent for parent, some in below.items() for child in some}
    parents.pop(root or "", None)
    for uid in list(own):
        above = parents.get(uid)
        while above is not None and above in facts and above not in own:
            own[above] = CostRow(above, Tally(), [])
            above = parents.get(above)
    found = []
    for uid, row in own.items():
        members = (own[each] for each in family(uid, below) if each in own)
        whole = sum((member.tally.amount for member in members), Amount())
        about = {**facts[uid], "with_subagents": msgspec.to_builtins(whole)}
        found.append(msgspec.structs.replace(row, about=about))
    return sorted(found, key=lambda row: (-row.about["with_subagents"]["microdollars"], row.key))


def _unpriced(found: list[Charge]) -> list[dict[str, Any]]:
    """Models, or searches of theirs, that nobody told us the price of; most tokens first."""
    tokens: dict[str, int] = {}
    searches: dict[str, int] = {}
    for charge in found:
        label = charge.rate.kind.label
        if charge.unpriced_tokens or charge.rate.price is None:
            tokens[label] = tokens.get(label, 0) + charge.unpriced_tokens
        if charge.unpriced_searches:
            searches[label] = searches.get(label, 0) + charge.unpriced_searches
    rows = [
        {
            "model": label,
            "tokens": tokens.get(label, 0),
            **({"web_searches": searches[label]} if label in searches else {}),
        }
        for label in {**tokens, **searches}
    ]
    return sorted(rows, key=lambda row: (-row["tokens"], row["model"]))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
