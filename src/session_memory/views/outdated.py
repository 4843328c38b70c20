"""How many sessions have to be analyzed.

A separate module, so that commands that only need these numbers start quickly.
"""

from session_memory.learn.version import analysis_version
from session_memory.store import Store
from session_memory.store.digests import Digests


def outdated(store: Store) -> int:
    """The number of digests made by older analysis code. ``analyze`` makes them again."""
    return Digests(store.db).outdated(analysis_version())


def waiting(store: Store) -> int:
    """The number of sessions without a digest of their present state and of this release.

    Digests that were made with other prices are not counted.
    """
    return max(Digests(store.db).count_waiting(), outdated(store))
