"""Write the retrospective of the last full week to a file of its own, for a service or a timer.

The files are the only state: a week whose file exists is done. So a run that was killed or repeated
needs no repair, and a file that the user changed is never overwritten. A week that was missed is
not written later, and a week in which no session ended gives no file.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from session_memory.memory.memory import Memory


class CalendarWeek(NamedTuple):
    """A week of the ISO calendar in local time. ``until`` is the first moment after it."""

    name: str
    since: datetime
    until: datetime

    @property
    def title(self) -> str:
        last = (self.until - timedelta(hours=12)).date()
        return f"# Retrospective of week {self.name}, {self.since.date()} to {last}"


class WeeklyRetro(NamedTuple):
    """A retrospective that was written, and the week it is about."""

    path: Path
    week: CalendarWeek


def last_week(now: datetime) -> CalendarWeek:
    """Return the last full calendar week before ``now``."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    monday = day - timedelta(days=day.weekday())
    before = monday - timedelta(days=7)
    year, number, _ = before.isocalendar()
    # Each midnight gets the offset of its own day, which differs when the clocks change.
    return CalendarWeek(f"{year}-W{number:02}", before.astimezone(), monday.astimezone())


def write_weekly_retro(
    memory: "Memory", directory: Path, now: datetime | None = None
) -> WeeklyRetro | None:
    """Write the retrospective of the last week to ``directory``.

    Returns None if its file exists, or if no session ended in that week.
    """
    from session_memory.core.errors import UnsafePath
    from session_memory.store.private_files import make_private, sweep_unfinished, whole_file
    from session_memory.views.retro import to_markdown

    week = last_week(now or datetime.now().astimezone())
    path = directory.expanduser().absolute() / f"retro-{week.name}.md"
    if path.exists():
        return None
    found = memory.retro(since=week.since, until=week.until)
    if not found.repos:
        return None
    _, _, body = to_markdown(found).partition("\n")
    make_private(path.parent)
    sweep_unfinished(path.parent)
    try:
        with whole_file(path) as file:
            file.write(f"{week.title}\n{body}".encode())
    except UnsafePath:
        if path.exists():
            # Another process wrote it meanwhile.
            return None
        raise
    return WeeklyRetro(path, week)
