"""Bring sums that are saved in the store up to date after a sync, so that no report waits."""

from session_memory.pricing.figure_sets import keep_figures
from session_memory.store import Store
from session_memory.store.figure_marks import STATISTICS, UNPRICED
from session_memory.store.statistics_parts import Scope
from session_memory.views.cost_days import offsets


def renew_figures(store: Store) -> None:
    """Update the saved sums of costs and of statistics, each only if a report used it before."""
    used = {one.prices for one in store.figures.sets()}
    if used - set(UNPRICED):
        keep_figures(store, offsets(None))
    if STATISTICS in used:
        # Imported only if it is needed, so that other syncs do not load it.
        from session_memory.views.stats.keeping import keep_statistics  # noqa: PLC0415

        keep_statistics(store, Scope(), None)
