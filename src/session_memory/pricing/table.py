"""The price table that comes with the package: who charges what for which model, since when.

``prices.json`` is made by ``tools/make_prices.py`` and never changed by hand. Prices are integers:
picodollars for a token, so a dollar for a million tokens is 1,000,000.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import msgspec

STANDARD = ""
FAST = "fast"
DAY_MS = 86_400_000


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A price from a day on, in a part of each day, above a size of context.

    ``above`` is the least number of input tokens, cached ones included, it holds for. A missing
    ``search`` means that the fee of a web search is not known.
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


class Model(msgspec.Struct, frozen=True):
    """``rows`` by tier, each list in the order of time, covering every moment and size once."""

    id: str
    names: frozenset[str] = msgspec.field(name="is")
    match: str
    rows: dict[str, tuple[Row, ...]]

    def answers_to(self, name: str) -> bool:
        return name in self.names or bool(self.match and re.search(self.match, name))


class Provider(msgspec.Struct, frozen=True, dict=True):
    id: str
    match: str
    serves: tuple[str, ...]
    models: msgspec.Raw

    @cached_property
    def every_model(self) -> tuple[Model, ...]:
        """Decoded when somebody asks: one provider lists hundreds."""
        return msgspec.json.decode(self.models, type=tuple[Model, ...])

    def model(self, name: str) -> Model | None:
        return next((model for model in self.every_model if model.answers_to(name)), None)


class Table(msgspec.Struct, frozen=True, dict=True):
    source: str
    made: str
    digest: str
    providers: tuple[Provider, ...]

    @cached_property
    def by_id(self) -> dict[str, Provider]:
        return {provider.id: provider for provider in self.providers}

    def makers(self, name: str) -> Iterator[Provider]:
        """The providers whose models are named like this one."""
        return (p for p in self.providers if p.match and re.search(p.match, name))

    @property
    def version(self) -> str:
        return f"{self.source}, {self.made}"


@cache
def price_table() -> Table:
    """The table of this release."""
    body = (Path(__file__).parent / "prices.json").read_bytes()
    return msgspec.json.decode(body, type=Table)
