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
    """The time zone with a name like ``Europe/Berlin``. A name that is a path is refused."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    # Unknown; no name but a path; a directory of zones.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidTime(f"unknown time zone {short_repr(name)}", _HINT, field="tz") from None


def zone_names() -> list[str]:
    return sorted(available_timezones())


def clock(tz: tzinfo | None) -> Callable[[int], datetime]:
    """A function from milliseconds to a time in ``tz``, else in local time."""

    def read(ms: int) -> datetime:
        moment = _EPOCH + timedelta(milliseconds=ms)
        try:
            return moment.astimezone(tz)
        except OverflowError:  # The years 1 and 9999 have no neighbours.
            return moment

    return read
