"""Periods as people write them: ``2026-07``, ``2026-07-01``, ``7d``, ``yesterday``.

A period has a start and an end in milliseconds; the end is not part of it. ``since`` uses the start
and ``until`` the end, so ``--since 2026-07 --until 2026-07`` is the whole of July. ``7d`` is the
moment seven days ago: start and end are equal.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from session_memory.core.errors import InvalidTime
from session_memory.core.text import short_repr

HINT = "Write a date (2026-07-01), a month (2026-07), a time (2026-07-01T10:00), 7d or yesterday."

_AGO = re.compile(r"(\d{1,6})\s*(min|h|d|w)")
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MONTH = re.compile(r"\d{4}-\d{2}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}(:\d{2}){1,2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})?")


def period(text: str, now: datetime | None = None, tz: tzinfo | None = None) -> tuple[int, int]:
    """Return start and end of the period ``text``. Days are those of ``tz``, else local ones."""
    now = (now or datetime.now().astimezone()).astimezone(tz)
    try:
        first, end = _period(text.strip(), now, tz)
        return _ms(first), _ms(end)
    except (ValueError, OverflowError):
        message = f"not a time or period: {short_repr(text)}"
        raise InvalidTime(message, HINT, field="time") from None


def _period(text: str, now: datetime, tz: tzinfo | None) -> tuple[datetime, datetime]:
    word = text.lower()
    if word in ("today", "yesterday"):
        return _day(now - timedelta(days=word == "yesterday"), tz)
    if word == "now":
        return now, now
    if ago := _AGO.fullmatch(word):
        # Computed in UTC: with summer time, 12 hours ago is not always 12 hours on the clock.
        then = now.astimezone(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return then, then
    if _MONTH.fullmatch(text):
        first = datetime.fromisoformat(f"{text}-01")
        return _local(first, tz), _local((first + timedelta(days=32)).replace(day=1), tz)
    if _DAY.fullmatch(text):
        return _day(datetime.fromisoformat(text), tz)
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    then = datetime.fromisoformat(text.upper())
    then = then if then.tzinfo else _local(then, tz)
    return then, then


def _day(moment: datetime, zone: tzinfo | None) -> tuple[datetime, datetime]:
    first = moment.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return _local(first, zone), _local(first + timedelta(days=1), zone)


def _local(naive: datetime, zone: tzinfo | None) -> datetime:
    """Add to a local time the UTC offset of its own day, which can differ from today's."""
    return naive.replace(tzinfo=zone) if zone else naive.astimezone()


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
