"""Which adapters there are: a tuple of our own and an entry-point group for outsiders."""

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from session_memory.adapters.base import Adapter
from session_memory.core.errors import UnknownFlavor

BUILT_IN = ("claude", "codex", "grok", "skill", "live", "mycode", "power_loop")
GROUP = "session_memory.adapters"


@cache
def flavors() -> tuple[str, ...]:
    """Every flavor that can be collected, our own first."""
    outside = sorted({point.name for point in entry_points(group=GROUP)} - set(BUILT_IN))
    return (*BUILT_IN, *outside)


@cache
def adapter(flavor: str) -> Adapter:
    """The adapter of ``flavor``, imported when first asked for."""
    if flavor in BUILT_IN:
        return cast(Adapter, import_module(f"session_memory.adapters.{flavor}"))
    for point in entry_points(group=GROUP, name=flavor):
        return cast(Adapter, point.load())
    raise UnknownFlavor(flavor, near=get_close_matches(flavor, flavors(), n=1))
