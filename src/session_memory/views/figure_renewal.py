"""Figures that are kept are made again after collecting, so that no report waits for them."""

from session_memory.pricing.figure_sets import keep_figures
from session_memory.store import Store
from session_memory.store.figure_marks import STATISTICS, UNPRICED
from session_memory.store.statistics_parts import Scope
from session_memory.views.cost_days import offsets


def renew_figures(store: Store) -> None:
    """Make the figures of costs and of statistics if they are out of date and somebody has used
    some before."""
    used = {one.prices for one in store.figures.sets()}
    if used - set(UNPRICED):
        keep_figures(store, offsets(None))
    if STATISTICS in used:
        # A sync without such sums does not load it.
        from session_memory.views.stats.keeping import keep_statistics  # noqa: PLC0415

        keep_statistics(store, Scope(), None)
