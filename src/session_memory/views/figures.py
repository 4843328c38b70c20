"""Format numbers, sizes, durations and times for people."""

from datetime import datetime, tzinfo

_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(number: int) -> str:
    """Format a number briefly: ``950``, ``1.2k``, ``34k``, ``5.6M``; zero is a dash."""
    if not number:
        return "-"
    for step, sign in _STEPS:
        if number >= step * 0.9995:
            value = number / step
            return f"{value:.1f}{sign}" if value < 9.95 else f"{value:.0f}{sign}"
    return str(number)


def count_or_zero(number: int) -> str:
    """Like `count`, but zero is ``0``: for use in a sentence."""
    return count(number) if number else "0"


def size(number: int) -> str:
    """Format a number of bytes: ``812 B``, ``1.2 kB``, ``3.4 MB``."""
    for step, sign in _STEPS:
        if number >= step:
            return f"{number / step:,.1f} {sign}B"
    return f"{number} B"


def duration(seconds: float) -> str:
    """Format a duration: ``0.04 s``, ``12 s``, ``3 min``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def local(time: str | None, style: str = "%Y-%m-%d %H:%M", tz: tzinfo | None = None) -> str:
    """Format a stored time in the time zone ``tz``, by default in local time."""
    if time is None:
        return "-"
    try:
        return datetime.fromisoformat(time).astimezone(tz).strftime(style)
    except (ValueError, OverflowError):  # The time zone may lead out of the years 1 to 9999.
        return time


def brief_time(time: str | None, tz: tzinfo | None = None) -> str:
    """Format a stored time briefly: ``07-12 06:32`` in this year, ``2025-07-12`` in another."""
    year = local(time, "%Y", tz)
    this_year = datetime.now(tz).strftime("%Y")
    return local(time, "%m-%d %H:%M" if year == this_year else "%Y-%m-%d", tz)


def plural(number: int, noun: str, several: str | None = None) -> str:
    """Format a number with its noun: ``1 session``, ``2 sessions``. ``several`` is an irregular
    plural, such as ``retries``."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def age(ts: int | None, now: int) -> str:
    """Format the time from ``ts`` to ``now``: ``5 min ago``, ``3 h ago``, ``4 months ago``."""
    if ts is None:
        return ""
    minutes = max(now - ts, 0) // 60_000
    if minutes < 1:
        return "just now"
    if minutes < 120:
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    days = minutes // (24 * 60)
    return f"{days} days ago" if days < 90 else f"{days // 30} months ago"
