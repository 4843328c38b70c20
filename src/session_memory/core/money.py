"""Prices and spending limits that a user configures. Values only."""

import msgspec


class OwnPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model's price in dollars for a million tokens (web searches: for a thousand searches).

    A missing ``cache_read`` or ``cache_write`` is the input price. A missing ``cache_write_1h`` is
    the price of ``cache_write``. In fast mode the token prices are multiplied by ``fast``.
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
    """Spending limits in dollars. ``None`` means no limit."""

    day: float | None = None
    month: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not 0 < value <= MOST_LIMIT:
                raise ValueError(f"{name} must be more than 0 and at most {MOST_LIMIT:,} dollars")


# Within these limits, the price of one response always fits into 64 bits.
MOST_DOLLARS = 10_000
_MOST = {"web_searches": 1_000, "fast": 100}
LEAST_LIMIT = 0.01
MOST_LIMIT = 1_000_000_000
