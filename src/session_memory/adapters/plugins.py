"""Adapters from other packages, which announce them in the entry-point group below.

``importlib.metadata`` takes longer to import than a short command takes to run. So it is imported
only when some installed package mentions the group.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

GROUP = "session_memory.adapters"


def plugin_loaders() -> dict[str, Callable[[], Any]]:
    """For each flavor of a plugin the function that imports its adapter, sorted by flavor."""
    if not _is_mentioned():
        return {}
    from importlib.metadata import entry_points  # noqa: PLC0415

    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return {point.name: point.load for point in points}


def _is_mentioned() -> bool:
    """Whether a package on the path may announce an adapter. A zip file may, so it counts."""
    for place in map(Path, sys.path):
        if place.is_file():
            return True
        for pattern in ("*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt"):
            for file in place.glob(pattern):
                if GROUP in file.read_text("utf-8", "replace"):
                    return True
    return False
