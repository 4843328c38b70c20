"""Times: ISO-8601 text outside the store, milliseconds since the epoch inside it, always UTC.

All arithmetic uses integers, so a time that is read, stored and written again does not change.
"""

import re
from datetime import UTC, datetime, timedelta
from time import time_ns

from session_memory.core.errors import InvalidTime
from session_memory.core.text import short_repr

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
MIN_MS = -62_135_596_800_000  # 0001-01-01T00:00:00.000Z
MAX_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z

# `datetime.fromisoformat` accepts any character between date and time, even a digit.
_ISO_8601 = re.compile(
    r"[0-9W-]{7,10}(?:[Tt ][0-9:]{2,8}(?:[.,][0-9]+)?(?:[Zz]|[+-][0-9:]{2,8})?)?"
)
_NORMAL = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
)
_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def parse_time(text: str, field: str = "time") -> int:
    """Return an ISO-8601 time as milliseconds since the epoch. A time without an offset is UTC."""
    if (
        isinstance(text, str)
        and len(text) == 24
        and text[23] == "Z"
        and text[19] == "."
        and text[16] == ":"
    ):
        # Nearly every time in a log has this form. The minute is cached, "SSmmm" is added to it.
        rest = text[17:19] + text[20:23]
        if rest.isdecimal() and rest.isascii() and rest < "60000":
            minute = _minutes.get(text[:17])
            return (_minute(text[:17], field) if minute is None else minute) + int(rest)
    return _parse_time(text, field)


def time_or_none(value: object) -> int | None:
    """Milliseconds since the epoch, or None if ``value`` is not a time."""
    try:
        return parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None


_minutes: dict[str, int] = {}


def _minute(text: str, field: str) -> int:
    if len(_minutes) > 10_000:
        _minutes.clear()
    return _minutes.setdefault(text, _parse_time(f"{text}00.000Z", field))


def _parse_time(text: str, field: str) -> int:
    moment = _parse_datetime(text, field)
    since = moment - EPOCH
    ms = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
    # An offset can move the first or the last day outside the years 1 to 9999.
    if not MIN_MS <= ms <= MAX_MS:
        raise _invalid_time(text, field)
    return ms


def format_time(ms: int) -> str:
    """Return a time as ``2026-07-01T10:00:00.000Z``.

    Such texts sort in the order of their times.
    """
    if not MIN_MS <= ms <= MAX_MS:
        raise InvalidTime(f"time {short_repr(ms)} ms is outside the years 1 to 9999", field="time")
    return (_NAIVE_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds") + "Z"


def normalize_time(text: str, field: str = "time") -> str:
    """Return an ISO-8601 time in the form ``2026-07-01T10:00:00.000Z``, in UTC."""
    if isinstance(text, str) and _NORMAL.fullmatch(text):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            raise _invalid_time(text, field) from None
        return text
    return format_time(parse_time(text, field))


def check_rfc3339(field: str, value: object) -> str:
    """Return ``value`` unchanged if it is an RFC 3339 time; otherwise raise an error.

    A `datetime` becomes such a text. One without a time zone is local time, as everywhere in
    Python.
    """
    if isinstance(value, datetime):
        value = _rfc3339(value, field)
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise _invalid_time(value, field)
    parse_time(value, field)
    return value


def _rfc3339(moment: datetime, field: str) -> str:
    try:
        aware = moment if moment.utcoffset() is not None else moment.astimezone()
        offset = aware.utcoffset()
        # RFC 3339 has no offsets with seconds, as local times before about 1900 have them.
        if offset is None or offset % timedelta(minutes=1):
            aware = aware.astimezone(UTC)
    except (OverflowError, ValueError):
        raise _invalid_time(moment, field) from None
    return aware.isoformat()


def now_ms() -> int:
    return time_ns() // 1_000_000


def now() -> str:
    return format_time(now_ms())


def _parse_datetime(text: str, field: str) -> datetime:
    try:
        if not _ISO_8601.fullmatch(text):
            raise ValueError
        moment = datetime.fromisoformat(text.upper())
    except (TypeError, ValueError):
        raise _invalid_time(text, field) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _invalid_time(value: object, field: str) -> InvalidTime:
    return InvalidTime(f"{field} must be an ISO-8601 time, not {short_repr(value)}", field=field)
