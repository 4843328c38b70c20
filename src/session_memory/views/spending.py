"""Read the usage and cost of a session in order, a piece at a time."""

import msgspec

from session_memory.core.schema import Cost
from session_memory.pricing import Amount
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.store import Store
from session_memory.store.usage import BUCKETS

AT_THE_END = 1 << 62


class UsageCost(msgspec.Struct, frozen=True):
    cost: Cost
    amount: Amount


class Spending:
    """The usage that counts for one session, in the order of its events. `until` returns the next
    part of it."""

    def __init__(self, store: Store, uid: str) -> None:
        found = charges(store, ("seq",), UsageFilter(uids=(uid,)))
        placed = ((AT_THE_END if c.key[0] is None else c.key[0], c) for c in found)
        self._left = sorted(placed, key=lambda one: one[0], reverse=True)

    def until(self, seq: int | None) -> UsageCost | None:
        """Return the sum of the usage before ``seq`` that no earlier call returned; None if there
        is none. Without ``seq``, all the rest."""
        figures, amount, number = [0] * len(BUCKETS), Amount(), 0
        while self._left and (seq is None or self._left[-1][0] < seq):
            charge = self._left.pop()[1]
            number += 1
            figures = [one + more for one, more in zip(figures, charge.buckets, strict=True)]
            amount += Amount(charge.microdollars, charge.unpriced_tokens)
        if not number:
            return None
        buckets = dict(zip(BUCKETS, figures, strict=True))
        return UsageCost(Cost(**buckets), amount)
