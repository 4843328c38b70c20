"""Python's search for garbage, off during work that makes many objects and no cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Turn the garbage collector off: the many new rows hold no cycles, and scanning them costs."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
