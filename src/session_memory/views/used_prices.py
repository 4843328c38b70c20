"""Say which prices a report was made with."""

from typing import Any

from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.table import price_table
from session_memory.store import Store


def prices_used(store: Store) -> dict[str, Any]:
    """Return the version of the price table, and the names of the user's own prices."""
    table = price_table()
    own = sorted(own_prices(store))
    return {"version": table.version, "digest": table.digest, "own": own}
