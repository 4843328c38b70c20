"""Recognize the sources that are logs of the invented demo."""

from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

DEMO_HOST = "demo"
# The directory in the package, wherever it was installed when the demo was collected.
_DEMO_DIRECTORIES = ("/session_memory/demo/home/", "/session_memory/demo/agents/")


def is_demo(row: SourceRow) -> bool:
    """Whether a source is a log of the demo. A real machine may be named ``demo``, too."""
    return row.host == DEMO_HOST and is_demo_path(row.path)


def is_demo_path(path: str) -> bool:
    place = f"{path}/".replace("\\", "/")
    return any(directory in place for directory in _DEMO_DIRECTORIES)


def has_demo(store: Store) -> bool:
    """Whether a store has logs of the demo."""
    return any(is_demo(row) for row in store.sources.known(DEMO_HOST).values())
