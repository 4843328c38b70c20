"""Time zones: the day and hour of a stored time in a time zone.

Databases group times by quarters of an hour, because no offset of a time zone is finer. This module
decides on which day a quarter falls, with summer time.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from session_memory.core.errors import InvalidTime
from session_memory.core.text import short_repr

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HINT = "Write a name like Europe/Berlin, America/New_York or UTC."


def zone(name: str) -> tzinfo:
    """Return the time zone with a name like ``Europe/Berlin``. A name that is a path is refused."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    # The name is unknown, a path, or the name of a directory of zones.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidTime(f"unknown time zone {short_repr(name)}", _HINT, field="tz") from None


def zone_names() -> list[str]:
    return sorted(available_timezones())


def clock(tz: tzinfo | None) -> Callable[[int], datetime]:
    """Return a function from milliseconds to a time in ``tz``, by default in local time."""

    def read(ms: int) -> datetime:
        moment = _EPOCH + timedelta(milliseconds=ms)
        try:
            return moment.astimezone(tz)
        except OverflowError:  # The time zone may lead out of the years 1 to 9999.
            return moment

    return read
