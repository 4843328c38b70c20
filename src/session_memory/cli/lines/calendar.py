"""Activity as heatmaps of characters: one of all days, one of the hours of each weekday."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING

from session_memory.cli.lines.bars import ChartSigns, heatmap, legend, spark
from session_memory.views.figures import count

if TYPE_CHECKING:
    from session_memory.views.stats.sections import Activity, Day

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LABEL = 4
A_YEAR = 53
LONGEST = 366
_SERIES = ("sessions", "turns", "calls", "events")


def activity_lines(activity: "Activity", limit: int | None, using: ChartSigns) -> Iterator[str]:
    if not activity.days:
        return
    events = {date.fromisoformat(day.day): day.events for day in activity.days}
    yield from day_lines(events, limit, using)
    yield ""
    yield from _hours(activity, limit, using)
    yield ""
    yield " " * LABEL + legend(using)
    yield ""
    yield from _series(activity.days, limit, using)


def day_lines(amounts: Mapping[date, float], limit: int | None, using: ChartSigns) -> Iterator[str]:
    """Yield a heatmap of days with a column for each week and a row for each weekday.

    If not all weeks fit into ``limit`` columns, the last ones are shown.
    """
    first, last = min(amounts), max(amounts)
    there = (_monday(last) - _monday(first)).days // 7 + 1
    fitting = A_YEAR if limit is None else max(limit - LABEL, 1)
    weeks = min(there, fitting)
    wide = 2 if limit is None or weeks * 2 <= fitting else 1
    start = _monday(last) - timedelta(weeks=weeks - 1)
    first = max(first, start)
    yield _months(start, weeks, wide)
    rows = [
        (name, [_amount(amounts, start, week * 7 + place, first, last) for week in range(weeks)])
        for place, name in enumerate(WEEKDAYS)
    ]
    yield from heatmap(rows, wide=wide, using=using)


def _amount(
    amounts: Mapping[date, float], start: date, days: int, first: date, last: date
) -> float | None:
    # Days are counted, because the last week of the year 9999 has days without a date.
    if not (first - start).days <= days <= (last - start).days:
        return None
    return amounts.get(start + timedelta(days=days), 0)


def _monday(day: date) -> date:
    """Return the Monday of the day's week. It always exists: the year 1 began on a Monday."""
    return day - timedelta(days=day.weekday())


def _months(start: date, weeks: int, wide: int) -> str:
    """Return a line with the name of each month above its first week, if there is room."""
    line = " " * LABEL
    known = None
    for week in range(weeks):
        day = start + timedelta(weeks=week)
        place = LABEL + week * wide
        if day.month != known and (known is None or day.day <= 7):
            if len(line) <= place <= LABEL + weeks * wide - 3:
                line = f"{line:<{place}}{day:%b} "
            known = day.month
    return line.rstrip()


def _hours(activity: "Activity", limit: int | None, using: ChartSigns) -> Iterator[str]:
    wide = 2 if limit is None or limit >= LABEL + 48 else 1
    marks = "".join(f"{hour:<{wide * 6}}" for hour in (0, 6, 12, 18))
    yield f"{' ' * LABEL}{marks}".rstrip()
    rows = list(zip(WEEKDAYS, activity.weekdays, strict=True))
    yield from heatmap(rows, wide=wide, using=using)


def _series(days: "list[Day]", limit: int | None, using: ChartSigns) -> Iterator[str]:
    """Yield a line for each figure: its average and its maximum a day, and a sparkline.

    Days without events do not count for the average.
    """
    for name in _SERIES:
        amounts = {date.fromisoformat(day.day): getattr(day, name) for day in days}
        busiest = max(amounts, key=lambda day: (amounts[day], day))
        average = f"{sum(amounts.values()) / len(amounts):,.1f}"
        words = f"{name:<8} {average:>8} a day, at most {count(amounts[busiest]):>4} on {busiest}  "
        free = 60 if limit is None else limit - len(words)
        yield words + spark(every_day(amounts), free, using) if free >= 8 else words.rstrip()


def every_day(amounts: Mapping[date, float]) -> list[float]:
    """Return the amount of every day up to the last one, for at most a year.

    A day that is not in ``amounts`` has the amount 0.
    """
    last = max(amounts)
    length = min((last - min(amounts)).days, LONGEST) + 1
    start = last.toordinal() - length + 1
    return [amounts.get(date.fromordinal(start + day), 0) for day in range(length)]
