"""Days, weeks, months and five-hour blocks, as cost reports have them."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo

from session_memory.core.time import MAX_MS, format_time
from session_memory.views.zones import clock

HOUR_MS = 3_600_000
# No zone has changed its clocks there and back within one.
WEEK_MS = 7 * 86_400_000
BLOCK_HOURS = 5
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# Agents wrote nothing before and zones say little about later; a time outside is a wrong clock.
_FIRST_MS = 946_684_800_000  # 2000
_LAST_MS = 4_102_444_800_000  # 2100


def day_of(number: int) -> date:
    """The day that many after 1970-01-01; the first and the last of all stay where they are."""
    return date.fromordinal(min(max(number + _EPOCH_ORDINAL, 1), date.max.toordinal()))


def week_of(day: date) -> str:
    """``2026-W19``: weeks begin on Monday, and belong to the year that has most of them."""
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def offsets(tz: tzinfo | None) -> Callable[[int, int], list[tuple[int, int]]]:
    """Between two moments: from which on a clock of ``tz`` is how far ahead of UTC.

    To the minute at which summer time begins and ends, so that a day of 23 or 25 hours is one.
    """
    read = clock(tz)

    def ahead(ms: int) -> int:
        offset = read(ms).utcoffset() or timedelta()
        return int(offset.total_seconds() * 1000)

    def between(first: int, last: int) -> list[tuple[int, int]]:
        first, last = max(first, _FIRST_MS), min(last, _LAST_MS)
        found = [(first, ahead(first))]
        for start in range(first, last + 1, WEEK_MS):
            end = min(start + WEEK_MS, last)
            if ahead(end) != found[-1][1]:
                found.append((_change(ahead, start, end), ahead(end)))
        return found

    return between


def _change(ahead: Callable[[int], int], early: int, late: int) -> int:
    """The first moment after ``early`` at which the clock shows what it does at ``late``."""
    shown = ahead(late)
    while late - early > 1:
        middle = (early + late) // 2
        if ahead(middle) == shown:
            late = middle
        else:
            early = middle
    return late


def block_starts(hours: Iterable[int]) -> Iterator[int]:
    """The hours at which blocks begin, of ascending ones in which something was used.

    A block begins with the hour of the first use after the one before has ended; since it ends on
    the hour too, hours are enough to tell blocks apart exactly.
    """
    end = None
    for hour in hours:
        if end is None or hour >= end:
            yield hour
            end = hour + BLOCK_HOURS


def hour_time(hour: int) -> str:
    """The hour as a time; there is none after the year 9999."""
    return format_time(min(hour * HOUR_MS, MAX_MS))


def today(tz: tzinfo | None, now: datetime | None = None) -> date:
    return (now or datetime.now(UTC)).astimezone(tz).date()
