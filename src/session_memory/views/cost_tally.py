"""Sums of charges: tokens, money and the number of responses."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from session_memory.pricing.amounts import Charge
from session_memory.pricing.sessions import Amount
from session_memory.store.usage import BUCKETS


class CostTally:
    """The sum of charges."""

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
