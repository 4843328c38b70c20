"""Count the sessions that have to be analyzed.

This is a separate module, so that commands that only need these numbers start quickly.
"""

from session_memory.learn.version import analysis_version
from session_memory.store import Store
from session_memory.store.digests import Digests


def outdated(store: Store) -> int:
    """Count the digests made by older analysis code. The command ``analyze`` makes them again."""
    return Digests(store.db).outdated(analysis_version())


def waiting(store: Store) -> int:
    """Return how many sessions have to be analyzed, without looking at each of them.

    This is the number of new or changed sessions, or the number of digests by older analysis code,
    whichever is larger. Digests that are outdated only because prices changed are not counted.
    """
    return max(Digests(store.db).count_waiting(), outdated(store))
