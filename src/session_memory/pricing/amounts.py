"""Compute the cost of usage, from stored sums (kept figures) or from the usage records.

Both ways give the same amounts, to the micro-dollar.
"""

from collections.abc import Sequence

from session_memory.pricing.counted import (
    Charge,
    Clock,
    UsageFilter,
    active_hours,
    counted_charges,
)
from session_memory.pricing.kept_charges import kept_charges
from session_memory.pricing.rates import OwnPrices
from session_memory.store import Store

__all__ = ["Charge", "UsageFilter", "active_hours", "charges"]


def charges(
    store: Store,
    keys: Sequence[str] = (),
    filters: UsageFilter | None = None,
    *,
    own: OwnPrices | None = None,
    clock: Clock | None = None,
) -> list[Charge]:
    """Return the charges (sums of usage and their cost), grouped by ``keys``.

    A key is ``day``, ``hour``, ``session``, ``repo``, ``outcome``, ``usage``, ``seq`` or
    ``reported`` (the agent's own figure). A day is a number counted from 1970. ``clock`` decides
    where days begin: for a time span it returns the offsets from UTC in milliseconds, each with the
    moment it starts. Hours are in UTC. A key that the usage does not have, such as a time or a
    repo, is None. ``own`` are prices to use instead of the user's own prices.
    """
    filters = filters or UsageFilter()
    if own is None and clock is not None and filters.uids is None:
        with store.db.snapshot():
            found = kept_charges(store, keys, filters, clock)
        if found is not None:
            return found
    return counted_charges(store, keys, filters, own=own, clock=clock)
