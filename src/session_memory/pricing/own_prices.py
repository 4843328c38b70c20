"""The prices that the user sets; they are used before those of the price table.

Every amount is made with the prices that this module returns. A program that opened the store by
itself therefore gets the same amounts as the command line.
"""

from session_memory.config import load_config
from session_memory.pricing.rates import OwnPrices
from session_memory.store import Store


def own_prices(store: Store) -> OwnPrices:
    """The prices set on the store, else ``[prices]`` of the user's configuration file.

    The file is read once for each store, when something is priced for the first time.
    """
    if store.own_prices is None:
        prices = load_config().prices
        store.own_prices = lambda: prices
    return store.own_prices()
