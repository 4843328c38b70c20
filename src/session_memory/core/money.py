"""What a user says about money: prices of their own, and limits. Values only."""

import msgspec


class OwnPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model's price in dollars for a million tokens (web searches: for a thousand).

    What is left out costs what it is a part of: reading from the cache and writing to it as much
    as input, the 1-hour cache as much as the other one. ``fast`` is what fast mode multiplies by.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    web_searches: float = 0.0
    fast: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value, most = getattr(self, name), _MOST.get(name, MOST_DOLLARS)
            if value is not None and not 0 <= value <= most:
                raise ValueError(f"{name} must be from 0 to {most:,}")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What may be spent, in dollars; ``None`` sets no limit."""

    day: float | None = None
    month: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not 0 < value <= MOST_LIMIT:
                raise ValueError(f"{name} must be more than 0 and at most {MOST_LIMIT:,} dollars")


# With these, no product of prices and tokens of one response leaves 64 bits.
MOST_DOLLARS = 10_000
_MOST = {"web_searches": 1_000, "fast": 100}
LEAST_LIMIT = 0.01
MOST_LIMIT = 1_000_000_000
