"""Find the prices that the user has set; they come before those of the price table.

Every amount is computed with the prices that this module returns. So a program that opens the store
by itself gets the same amounts as the command line.
"""

from session_memory.config import load_config
from session_memory.pricing.rates import OwnPrices
from session_memory.store import Store


def own_prices(store: Store) -> OwnPrices:
    """Return the prices set on the store, else ``[prices]`` of the user's configuration file.

    The file is read once for each store, when something is priced for the first time.
    """
    if store.own_prices is None:
        prices = load_config().prices
        store.own_prices = lambda: prices
    return store.own_prices()
