"""Give freed memory back to the operating system after a large answer.

A question about 100,000 sessions takes hundreds of megabytes for a second. The C library would keep
that memory, and the server would occupy it for days.
"""

import ctypes
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    """``malloc_trim`` of glibc; None on other systems."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if hasattr(ctypes, "CDLL") else None


def give_back_memory() -> None:
    if (trim := _trim()) is not None:
        trim(0)
