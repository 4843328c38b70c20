"""Read token counts as agents log them, and calculate with them.

Only `NativeUsage` rejects a count that cannot be true. Adapters read a figure with `count_of` and
pass it to `NativeUsage`. To subtract or add figures first, they use the functions here. These
functions return a count that cannot be true unchanged, so that `NativeUsage` sees it and no other
figure is wrong.
"""

from typing import Any

from session_memory.core.text import short_repr

# No response can use this many tokens. Sums of millions of responses still fit into both databases.
MOST_TOKENS = 1 << 40


LoggedCount = Any
"""The type of a token count in the lines of a log: any JSON value, which `count_of` reads."""


class NotACount(int):
    """A logged token count that is not a whole number. Its value is -1, so it is rejected;
    ``logged`` is the value in the log, for the message."""

    def __new__(cls, logged: object) -> "NotACount":
        return super().__new__(cls, -1)

    def __init__(self, logged: object) -> None:
        self.logged = logged


def count_of(logged: Any) -> int:
    """Return a logged token count as an integer. A missing one is 0, and ``12.0`` is 12.

    For any other value that is no whole number, return a `NotACount`, which `NativeUsage` rejects.
    """
    if type(logged) is int or isinstance(logged, NotACount):
        return logged
    if logged is None:
        return 0
    if isinstance(logged, float) and logged.is_integer():
        return int(logged)
    return NotACount(logged)


def is_possible(count: int) -> bool:
    return 0 <= count <= MOST_TOKENS


def usable_count(count: int) -> int:
    """Return ``count``, or 0 if it cannot be true."""
    return count if 0 <= count <= MOST_TOKENS else 0


def without(whole: int, *parts: int) -> int:
    """Return ``whole`` minus its ``parts``, for agents that count cached tokens as input too.

    If ``whole`` cannot be true, return it unchanged.
    """
    if not is_possible(whole):
        return whole
    return max(whole - sum(map(usable_count, parts)), 0)


def together(*parts: int) -> int:
    """Return the sum of ``parts``, or the first of them that cannot be true."""
    return next((part for part in parts if not is_possible(part)), sum(parts))


def part_of(part: int, whole: int) -> int:
    """Return ``part``, or ``whole`` if that is less. A count that cannot be true changes
    nothing."""
    return min(part, whole) if is_possible(part) and is_possible(whole) else part


def short_number(number: float) -> str:
    """Return a number as a short text. A log may hold one with thousands of digits."""
    if isinstance(number, NotACount):
        return short_repr(number.logged)
    if isinstance(number, int) and abs(number) >= 1 << 128:
        return f"a number of {number.bit_length():,} bits"
    return str(number)
