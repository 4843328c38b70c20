"""Figures that can be added up: sums by key, and sorted values for percentiles.

A *part* of the statistics is one of these two. Parts of different sessions can be added up: the
result is the part of all these sessions. No session may be in both.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping

import msgspec

Key = tuple[str | int | None, ...]
Sums = dict[Key, list[int]]
NEVER = -(1 << 62)
"""The time of the latest edit of a file if no edit has a time. It is earlier than any real time."""
_LARGEST_SHORT = (1 << 32) - 1


def add(sums: Sums, key: Key, figures: Iterable[int]) -> None:
    known = sums.get(key)
    if known is None:
        sums[key] = list(figures)
    else:
        for place, figure in enumerate(figures):
            known[place] += figure


def add_all(sums: Sums, others: Mapping[Key, list[int]]) -> None:
    for key, figures in others.items():
        known = sums.get(key)
        if known is None:
            sums[key] = figures
        else:
            sums[key] = [one + other for one, other in zip(known, figures, strict=True)]


def add_files(sums: Sums, others: Mapping[Key, list[int]]) -> None:
    """Add ``others`` to ``sums``. The last figure is a time, of which the latest is kept."""
    for key, figures in others.items():
        known = sums.get(key)
        if known is not None:
            latest = max(known[-1], figures[-1])
            figures = [one + other for one, other in zip(known, figures, strict=True)]
            figures[-1] = latest
        sums[key] = figures


class SortedValues(msgspec.Struct, frozen=True, array_like=True):
    """Sorted integers as bytes. ``code`` is their type code in the module `array`."""

    code: str
    bytes: bytes

    @classmethod
    def of(cls, values: Iterable[int]) -> "SortedValues":
        ordered = sorted(values)
        is_short = not ordered or (ordered[0] >= 0 and ordered[-1] <= _LARGEST_SHORT)
        code = "I" if is_short else "q"
        return cls(code, array(code, ordered).tobytes())

    @property
    def values(self) -> "memoryview[int]":
        return memoryview(self.bytes).cast(self.code)  # type: ignore[call-overload,no-any-return]


Values = dict[str | int | None, list[SortedValues]]


def spread(runs: Iterable[SortedValues]) -> tuple[int, int, int, int] | None:
    """Return ``(count, median, 95th percentile, largest)`` of all values; None without any.

    Percentiles are values that occurred: the smallest that 50 or 95 of 100 do not exceed. They are
    found by halving the range of possible values, so that runs need not be merged.
    """
    sorted_runs = [run.values for run in runs if run.bytes]
    if not sorted_runs:
        return None
    total = sum(map(len, sorted_runs))
    least, most = min(run[0] for run in sorted_runs), max(run[-1] for run in sorted_runs)

    def at(rank: int) -> int:
        low, high = least, most
        while low < high:
            middle = (low + high) // 2
            if sum(bisect_right(run, middle) for run in sorted_runs) >= rank:
                high = middle
            else:
                low = middle + 1
        return low

    return total, at((total + 1) // 2), at((total * 95 + 99) // 100), most
