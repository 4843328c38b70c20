"""What the tests let another process do. Run as a program: ``child.py TASK ARGUMENT…``."""

import sys
from pathlib import Path

from session_memory.derive import reindex as reindexing
from session_memory.derive.reindex import reindex as build
from session_memory.store import open_store
from session_memory.testing.collecting import collect


def sync(root: str, place: str) -> None:
    with open_store(place) as store:
        collect(store, Path(root))


def reindex(place: str, until: str = "") -> None:
    """Build the index in small steps; again and again until the file ``until`` appears."""
    reindexing.GATHERED = 20_000
    is_last = False
    while not is_last:
        is_last = not until or Path(until).exists()
        with open_store(place) as store:
            build(store)
        if until:
            Path(f"{until}-at-work").touch()


if __name__ == "__main__":
    {"sync": sync, "reindex": reindex}[sys.argv[1]](*sys.argv[2:])
