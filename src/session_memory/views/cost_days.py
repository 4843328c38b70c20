"""Days, weeks and five-hour blocks for cost reports."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from session_memory.core.time import MAX_MS, format_time
from session_memory.views.zones import clock

HOUR_MS = 3_600_000
# One look in each week finds every change of an offset: no time zone had two within a week.
WEEK_MS = 7 * 86_400_000
BLOCK_HOURS = 5
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# Changes of the offset are looked for between these years. Other times are from a wrong clock.
_FIRST_MS = 946_684_800_000  # 2000
_LAST_MS = 4_102_444_800_000  # 2100


def day_of(number: int) -> date:
    """Return the date ``number`` days after 1970-01-01, limited to the years 1 to 9999."""
    return date.fromordinal(min(max(number + _EPOCH_ORDINAL, 1), date.max.toordinal()))


def week_of(day: date) -> str:
    """Return the ISO week of a day, such as ``2026-W19``."""
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def offsets(tz: tzinfo | None) -> Callable[[int, int], Sequence[tuple[int, int]]]:
    """Return a function that lists the UTC offsets of ``tz`` between two moments.

    Each offset comes with the exact moment it starts, so days with 23 or 25 hours are right.
    """
    # The local zone is in the key of the cache, because it may change while the process runs.
    return _offsets(tz, (*time.tzname, time.timezone, time.altzone))


@lru_cache(maxsize=32)
def _offsets(
    tz: tzinfo | None, _local: tuple[object, ...]
) -> Callable[[int, int], Sequence[tuple[int, int]]]:
    read = clock(tz)

    def ahead(ms: int) -> int:
        offset = read(ms).utcoffset() or timedelta()
        return int(offset.total_seconds() * 1000)

    # Cached, because it takes 20 ms to find all changes of the offset in a century.
    @lru_cache(maxsize=64)
    def between(first: int, last: int) -> Sequence[tuple[int, int]]:
        first, last = max(first, _FIRST_MS), min(last, _LAST_MS)
        found = [(first, ahead(first))]
        for start in range(first, last + 1, WEEK_MS):
            end = min(start + WEEK_MS, last)
            if ahead(end) != found[-1][1]:
                found.append((_change(ahead, start, end), ahead(end)))
        return tuple(found)

    return between


def _change(ahead: Callable[[int], int], early: int, late: int) -> int:
    """Find the first moment after ``early`` that has the same UTC offset as ``late``."""
    shown = ahead(late)
    while late - early > 1:
        middle = (early + late) // 2
        if ahead(middle) == shown:
            late = middle
        else:
            early = middle
    return late


def block_starts(hours: Iterable[int]) -> Iterator[int]:
    """Yield the hours at which blocks start. ``hours`` are the hours with usage, in order.

    A block lasts five hours. It starts at the first hour with usage after the previous block.
    """
    end = None
    for hour in hours:
        if end is None or hour >= end:
            yield hour
            end = hour + BLOCK_HOURS


def hour_time(hour: int) -> str:
    """Format an hour, counted from 1970, as a time; at most the end of the year 9999."""
    return format_time(min(hour * HOUR_MS, MAX_MS))


def today(tz: tzinfo | None, now: datetime | None = None) -> date:
    return (now or datetime.now(UTC)).astimezone(tz).date()
