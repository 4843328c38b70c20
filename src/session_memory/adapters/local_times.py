"""Convert times that a log has in local time, without a time zone.

The zone of a log is the zone of the machine that first finds the log. An adapter stores the name of
the zone with the source (in its `SourceRef`). So a rebuild on a machine in another zone gives the
same times.
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
    """Return the name of this machine's time zone, such as ``Europe/Berlin``; if it has none, its
    present offset, such as ``+02:00``."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named:
        try:
            named = str(_LINK.readlink()).partition(_BELOW)[2]
        except OSError:
            named = ""
    if named and _zone(named) is not None:
        return named
    # The format "%:z" would give the colon, but Python knows it only since 3.12.
    offset = datetime.now().astimezone().strftime("%z")
    return f"{offset[:3]}:{offset[3:5]}"


def local_time(text: str, pattern: str, zone: str) -> int | None:
    """Return a local time in ``zone`` as milliseconds since 1970 in UTC.

    ``pattern`` is the format of ``text``, as for ``strptime``. None for a text that is no time.
    """
    try:
        naive = datetime.strptime(text, pattern)  # noqa: DTZ007
        moment = naive.replace(tzinfo=_zone(zone) or UTC)
        at = round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return at if MIN_MS <= at <= MAX_MS else None


@lru_cache(maxsize=16)
def _zone(name: str) -> tzinfo | None:
    """Return the time zone with this name or offset; None if there is none."""
    if name[:1] in ("+", "-"):
        try:
            ahead = datetime.strptime(name, "%z").utcoffset()
        except ValueError:
            return None
        return timezone(ahead or timedelta())
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        # There is no such zone, or the name is a path that leads out of the directory of zones.
        return None
