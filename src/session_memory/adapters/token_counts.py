"""Token counts as agents log them: which can be true, and arithmetic that keeps the others visible.

`NativeUsage` is the one place that rejects a count. Adapters read a figure with `count_of` and pass
it on. Where they must subtract or compare first, they use the functions here, so that a count that
cannot be true reaches `NativeUsage` as it is and does not change other figures.
"""

from typing import Any

from session_memory.core.text import short_repr

# More than any response can use. Sums of millions of responses still fit into both databases.
MOST_TOKENS = 1 << 40


LoggedCount = Any
"""The type of a figure in the lines of a log. Whatever JSON value it is, `count_of` reads it."""


class NotACount(int):
    """A token count that is not a whole number. It counts as impossible and prints as logged."""

    def __new__(cls, logged: object) -> "NotACount":
        return super().__new__(cls, -1)

    def __init__(self, logged: object) -> None:
        self.logged = logged


def count_of(logged: Any) -> int:
    """A figure as a JSON log has it. A missing one is 0, and ``12.0`` is 12.

    Any other value that is no whole number gives a `NotACount`, which `NativeUsage` rejects.
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
    """``count``, or 0 when no response can have used so many tokens."""
    return count if 0 <= count <= MOST_TOKENS else 0


def without(whole: int, *parts: int) -> int:
    """``whole`` without its ``parts``, for agents that count cached tokens as input too."""
    if not is_possible(whole):
        return whole
    return max(whole - sum(map(usable_count, parts)), 0)


def together(*parts: int) -> int:
    """The sum of ``parts``; the first of them that cannot be true, if there is one."""
    return next((part for part in parts if not is_possible(part)), sum(parts))


def part_of(part: int, whole: int) -> int:
    """``part``, which is at most ``whole``."""
    return min(part, whole) if is_possible(part) and is_possible(whole) else part


def short_number(number: float) -> str:
    """A number of any size, printable: a log may hold one with thousands of digits."""
    if isinstance(number, NotACount):
        return short_repr(number.logged)
    if isinstance(number, int) and abs(number) >= 1 << 128:
        return f"a number of {number.bit_length():,} bits"
    return str(number)
