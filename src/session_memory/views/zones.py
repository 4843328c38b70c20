"""Time zones: which day and hour a stored moment is on somebody's clock.

Databases group moments by quarters of an hour, since no zone's offset is finer; what day a quarter
falls on is decided here, summer time included.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from session_memory.core.errors import InvalidTime
from session_memory.core.text import short_repr

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HINT = "Write a name like Europe/Berlin, America/New_York or UTC."


def zone(name: str) -> tzinfo:
    """The zone of a name like ``Europe/Berlin``; names that lead elsewhere are none."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    # Unknown; no name but a path; a directory of zones.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidTime(f"no time zone: {short_repr(name)}", _HINT, field="tz") from None


def zone_names() -> list[str]:
    return sorted(available_timezones())


def clock(tz: tzinfo | None) -> Callable[[int], datetime]:
    """What a clock of ``tz``, else of this place, shows at a moment in milliseconds."""

    def read(ms: int) -> datetime:
        moment = _EPOCH + timedelta(milliseconds=ms)
        try:
            return moment.astimezone(tz)
        except OverflowError:  # The years 1 and 9999 have no neighbours.
            return moment

    return read
