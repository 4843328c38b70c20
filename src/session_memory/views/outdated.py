"""The number of outdated digests.

A separate module, so that commands that only need this number start quickly.
"""

from session_memory.learn.version import analysis_version
from session_memory.store import Store
from session_memory.store.digests import Digests


def outdated(store: Store) -> int:
    """The number of digests made by older analysis code. ``analyze`` makes them again."""
    return Digests(store.db).outdated(analysis_version())
