"""A detector: a pure function that finds one type of signal, with the texts that explain it.

To add one, write a module below ``learn/detect`` that assigns `DETECTOR`. Nothing else lists it.
"""

from collections.abc import Callable, Iterator

import msgspec

from session_memory.learn.digest import Digest
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal


class SessionDetector(msgspec.Struct, frozen=True, kw_only=True):
    """Finds signals in one digest. They are stored with the digest.

    ``advice`` tells a person what to do about a pattern of this type. ``lesson`` tells an agent; it
    is empty if a person has to write it. ``{locus}`` and ``{detail}`` are filled in.
    """

    type: str
    title: str
    find: Callable[[Digest], Iterator[Signal]]
    advice: str = "{detail}"
    lesson: str = ""


class FleetDetector(msgspec.Struct, frozen=True, kw_only=True):
    """Finds signals by comparing sessions. They are computed on every request, never stored."""

    type: str
    title: str
    find: Callable[[Fleet], Iterator[Signal]]
    advice: str = "{detail}"
    lesson: str = ""
