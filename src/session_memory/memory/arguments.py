"""Arguments as a caller writes them, turned into what the views take.

A time is a text of the command line (``"7d"``, ``"2026-07"``, ``"yesterday"``), a ``date``, a
``datetime``, or an ``int``: milliseconds since 1970 in UTC.
"""

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, TypedDict

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import short_repr

When = str | int | date | datetime
Zone = str | tzinfo
Names = str | Iterable[str]
Dollars = int | float | str | Decimal

MICRODOLLARS = 1_000_000


class WorkFilters(TypedDict, total=False):
    """Filters of figures. Names may contain ``*`` and ``?``; ``model`` matches anywhere."""

    since: When | None
    until: When | None
    tz: Zone | None
    flavor: str | None
    repo: str | None
    model: str | None


class UsageFilters(WorkFilters, total=False):
    """Filters of costs. A ``session`` includes its subagents."""

    session: str | None


class SessionFilters(WorkFilters, total=False):
    """Which sessions a list of files or commands is about."""

    host: str | None
    branch: str | None


def time_zone(tz: Zone | None) -> tzinfo | None:
    """The zone of a name such as ``Europe/Berlin``; None means local time."""
    if isinstance(tz, str):
        from session_memory.views.zones import zone

        return zone(tz)
    return tz


class TimeSpan(NamedTuple):
    """The first millisecond, and the one after the last; None where there is no bound."""

    since: int | None
    until: int | None


def period_of(since: When | None, until: When | None, tz: Zone | None = None) -> TimeSpan:
    """From the beginning of ``since`` to the end of ``until``, on the clock of ``tz``."""
    period = TimeSpan(_bounds(since, tz)[0], _bounds(until, tz)[1])
    if period.since is not None and period.until is not None and period.since >= period.until:
        hint = "Give an earlier since, or a later until."
        raise InvalidRecord("since is after the end of until", hint, field="since")
    return period


def _bounds(when: When | None, tz: Zone | None) -> tuple[int, int] | tuple[None, None]:
    if when is None:
        return None, None
    if isinstance(when, int):
        return when, when
    from session_memory.views.periods import period

    # A datetime is also a date, and its text is a moment; a naive one is on the clock of ``tz``.
    text = when if isinstance(when, str) else when.isoformat()
    return period(text, tz=time_zone(tz))


def names(given: Names | None) -> tuple[str, ...]:
    """One name or several as a tuple; None gives an empty tuple."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def microdollars(amount: Dollars | None) -> int | None:
    """A number of dollars in millionths of a dollar."""
    if amount is None:
        return None
    try:
        # Through a text, so that the float 0.1 means ten cents.
        return int(Decimal(str(amount)) * MICRODOLLARS)
    except (InvalidOperation, ValueError, OverflowError):
        hint = "Give dollars as a number, such as 2.50."
        message = f"not an amount of money: {short_repr(amount)}"
        raise InvalidRecord(message, hint, field="dollars") from None


def checked_limit(limit: int) -> int:
    """A number of answers; 0 means all."""
    if limit < 0:
        hint = "Give a number of 1 or more, or 0 for all."
        raise InvalidRecord(f"limit must not be negative: {limit}", hint, field="limit")
    return limit


def one_of(field: str, value: str, known: Iterable[str]) -> str:
    """``value`` if it is among ``known``; else an error that lists them."""
    choices = tuple(known)
    if value not in choices:
        hint = f"Choose one of: {', '.join(choices)}."
        raise InvalidRecord(f"unknown {field} {short_repr(value)}", hint, field=field)
    return value
