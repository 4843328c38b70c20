"""The price table of this release: the prices of each provider's models over time.

``tools/make_prices.py`` makes ``prices.json``; do not edit it by hand. Prices are integers in
picodollars per token, so one dollar per million tokens is 1,000,000.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import msgspec

STANDARD = ""
FAST = "fast"
DAY_MS = 86_400_000


class PriceRow(msgspec.Struct, frozen=True, array_like=True):
    """A price that applies from a day on, at certain hours, to contexts of a certain size or more.

    ``day_from`` and ``day_to`` are the hours, in milliseconds of the day (UTC). ``above`` is the
    smallest number of input tokens, cached ones included, that the price applies to. ``search`` is
    None if the fee of a web search is unknown.
    """

    since: str
    day_from: int
    day_to: int
    above: int
    input: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    output: int
    search: int | None


class PricedModel(msgspec.Struct, frozen=True):
    """The prices of a model: its price rows by tier, in order of time.

    At any time, one row applies to a context size. The model has the ``names`` and every name that
    matches the regular expression ``match``.
    """

    id: str
    names: frozenset[str] = msgspec.field(name="is")
    match: str
    rows: dict[str, tuple[PriceRow, ...]]

    def answers_to(self, name: str) -> bool:
        return name in self.names or bool(self.match and re.search(self.match, name))


class Provider(msgspec.Struct, frozen=True, dict=True):
    id: str
    match: str
    serves: tuple[str, ...]
    models: msgspec.Raw

    @cached_property
    def every_model(self) -> tuple[PricedModel, ...]:
        """All models of the provider, decoded on first use because there may be hundreds."""
        return msgspec.json.decode(self.models, type=tuple[PricedModel, ...])

    def model(self, name: str) -> PricedModel | None:
        return next((model for model in self.every_model if model.answers_to(name)), None)


class PriceTable(msgspec.Struct, frozen=True, dict=True):
    source: str
    made: str
    digest: str
    providers: tuple[Provider, ...]

    @cached_property
    def by_id(self) -> dict[str, Provider]:
        return {provider.id: provider for provider in self.providers}

    def makers(self, name: str) -> Iterator[Provider]:
        """Return the providers whose naming pattern matches this model name."""
        return (p for p in self.providers if p.match and re.search(p.match, name))

    @property
    def version(self) -> str:
        return f"{self.source}, {self.made}"


@cache
def price_table() -> PriceTable:
    """Return the price table of this release."""
    body = (Path(__file__).parent / "prices.json").read_bytes()
    return msgspec.json.decode(body, type=PriceTable)
