"""Figures that are kept are made again after collecting, so that no report waits for them."""

from session_memory.pricing.figure_sets import keep_figures
from session_memory.store import Store
from session_memory.views.cost_days import offsets
from session_memory.views.kept_files import FILES


def renew_figures(store: Store) -> None:
    """Make the figures of costs if they are out of date and somebody has used some before."""
    if any(one.prices != FILES for one in store.figures.sets()):
        keep_figures(store, offsets(None))
