"""The prices that the models in a store are charged at."""

from typing import Any

import msgspec

from session_memory.pricing.amounts import charges
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.rates import Rate, UsageKind, rates_of
from session_memory.pricing.table import price_table
from session_memory.store import Store
from session_memory.views.cost import CostFilter, usage_filter
from session_memory.views.used_prices import prices_used


class PriceRows(msgspec.Struct, frozen=True):
    """The rates of the models in a store, and the prices they come from."""

    rates: list[Rate]
    prices: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [_price_row(rate) for rate in self.rates], "prices": self.prices}


def price_rows(store: Store, filters: CostFilter) -> PriceRows:
    """Return every rate of the models whose usage ``filters`` selects, even an unused rate."""
    with store.db.snapshot():
        used = kinds_in_use(store, filters)
    order = sorted(used, key=_place)
    return PriceRows(rates_of(price_table(), own_prices(store), order), prices_used(store))


def kinds_in_use(store: Store, filters: CostFilter) -> set[UsageKind]:
    return {charge.rate.kind for charge in charges(store, (), usage_filter(store, filters))}


def _place(kind: UsageKind) -> tuple[str, ...]:
    return kind.model, kind.flavor, kind.label, kind.tier or "", kind.speed or ""


def _price_row(rate: Rate) -> dict[str, Any]:
    """Return a rate as JSON values. Prices are picodollars per token."""
    price = rate.price
    return {
        **msgspec.to_builtins(rate.kind),
        "unpriced": price is None,
        "provider": rate.provider or None,
        "listed": rate.listed or None,
        "rule": rate.rule or None,
        **({} if price is None else msgspec.structs.asdict(price)),
    }
