"""Turn the arguments of a caller into the values that the views take.

A time is a text of the command line (``"7d"``, ``"2026-07"``, ``"yesterday"``), a ``date``, a
``datetime``, or an ``int``: milliseconds since 1970 in UTC.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import NamedTuple, TypedDict

from session_memory.core.choices import one_of
from session_memory.core.errors import InvalidRecord
from session_memory.core.text import short_repr
from session_memory.core.time import MAX_MS, MIN_MS

When = str | int | date | datetime
Zone = str | tzinfo
Names = str | Iterable[str]
Dollars = int | float | str | Decimal

MICRODOLLARS = 1_000_000
MOST_DOLLARS = 10**12


class WorkFilters(TypedDict, total=False):
    """Filters of figures. Names may contain ``*`` and ``?``; ``model`` is any part of a name."""

    since: When | None
    until: When | None
    tz: Zone | None
    flavor: str | None
    repo: str | None
    model: str | None


class UsageFilters(WorkFilters, total=False):
    """Filters of usage. A ``session`` includes its subagents."""

    session: str | None


class CostFilters(UsageFilters, total=False):
    """Filters of costs. A ``task`` includes the subagents of its sessions."""

    task: str | None


class SessionFilters(WorkFilters, total=False):
    """Which sessions a list of files or commands is about."""

    host: str | None
    branch: str | None


def time_zone(tz: object) -> tzinfo | None:
    """Return the time zone of a name such as ``Europe/Berlin``; None means local time."""
    if isinstance(tz, str):
        from session_memory.views.zones import zone

        return zone(tz)
    if tz is not None and not isinstance(tz, tzinfo):
        hint = "Give a name such as Europe/Berlin, or a tzinfo."
        raise InvalidRecord(f"tz is {short_repr(tz)}", hint, field="tz")
    return tz


class TimeSpan(NamedTuple):
    """The first millisecond of a period, and the one after its last; None means no bound."""

    since: int | None
    until: int | None


def period_of(since: When | None, until: When | None, tz: Zone | None = None) -> TimeSpan:
    """Return the span from the beginning of ``since`` to the end of ``until`` in zone ``tz``."""
    time_zone(tz)
    period = TimeSpan(_bounds("since", since, tz)[0], _bounds("until", until, tz)[1])
    if period.since is not None and period.until is not None and period.since >= period.until:
        hint = "Give an earlier since, or a later until."
        raise InvalidRecord("since is after the end of until", hint, field="since")
    return period


def _bounds(field: str, when: object, tz: Zone | None) -> tuple[int, int] | tuple[None, None]:
    if when is None:
        return None, None
    if isinstance(when, int) and not isinstance(when, bool) and MIN_MS <= when <= MAX_MS:
        return when, when
    from session_memory.views.periods import HINT, period

    if not isinstance(when, str | date):
        hint = f"{HINT} A date, a datetime or milliseconds since 1970 are accepted, too."
        raise InvalidRecord(f"{field} is {short_repr(when)}", hint, field=field)
    # A datetime is also a date. Its text names a moment; without a zone, it is in the zone ``tz``.
    text = when if isinstance(when, str) else when.isoformat()
    return period(text, tz=time_zone(tz))


def microdollars(amount: Dollars | None) -> int | None:
    """Turn a number of dollars into millionths of a dollar."""
    if amount is None:
        return None
    try:
        # Converted through a text, so that the float 0.1 means ten cents.
        dollars = Decimal(str(amount))
        if abs(dollars) <= MOST_DOLLARS:
            return int(dollars * MICRODOLLARS)
    except (ArithmeticError, ValueError):
        pass
    hint = "Give dollars as a number, such as 2.50."
    raise InvalidRecord(f"not an amount of money: {short_repr(amount)}", hint, field="dollars")


def refuse_unknown(given: Mapping[str, object], filters: type) -> None:
    """Raise for a keyword that is not one of ``filters``; otherwise it would be ignored."""
    known = sorted(filters.__annotations__)
    for name in given:
        one_of("filter", name, known)
