"""Times that a log has in local time, without a zone.

The zone is that of the machine when it first finds the log. An adapter puts its name into the
reference to the source, which is stored. So a rebuild gives the same times, also in another zone.
"""

import os
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from session_memory.core.time import MAX_MS, MIN_MS

_LINK = Path("/etc/localtime")
_BELOW = "zoneinfo/"


def zone_here() -> str:
    """The name of this machine's zone, or its present offset: ``Europe/Berlin``, ``+02:00``."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named:
        try:
            named = str(_LINK.readlink()).partition(_BELOW)[2]
        except OSError:
            named = ""
    if named and _zone(named) is not None:
        return named
    return datetime.now().astimezone().strftime("%:z")


def local_time(text: str, pattern: str, zone: str) -> int | None:
    """Milliseconds since 1970 in UTC; None for a text that is no time."""
    try:
        naive = datetime.strptime(text, pattern)  # noqa: DTZ007
        moment = naive.replace(tzinfo=_zone(zone) or UTC)
        at = round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return at if MIN_MS <= at <= MAX_MS else None


@lru_cache(maxsize=16)
def _zone(name: str) -> tzinfo | None:
    """The zone with this name; None if there is none."""
    if name[:1] in ("+", "-"):
        try:
            ahead = datetime.strptime(name, "%z").utcoffset()
        except ValueError:
            return None
        return timezone(ahead or timedelta())
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        # There is no such zone, or the name leads somewhere else.
        return None
