"""Sums of charges: tokens, money and the number of responses."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

from session_memory.pricing.amounts import Charge
from session_memory.pricing.sessions import Amount
from session_memory.store.usage import BUCKETS


class CostTally(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of charges. ``buckets`` are the numbers of tokens (and of web searches) in the order
    of ``BUCKETS``."""

    buckets: tuple[int, ...] = (0,) * len(BUCKETS)
    microdollars: int = 0
    unpriced_tokens: int = 0
    responses: int = 0

    @classmethod
    def of(cls, charges: Iterable[Charge]) -> "CostTally":
        some = list(charges)
        columns = zip(*(charge.buckets for charge in some), strict=True)
        return cls(
            buckets=tuple(map(sum, columns)) or (0,) * len(BUCKETS),
            microdollars=sum(charge.microdollars for charge in some),
            unpriced_tokens=sum(charge.unpriced_tokens for charge in some),
            responses=sum(charge.records for charge in some),
        )

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
