"""How often a timer collects, in the notations of systemd, launchd and cron.

Nothing here writes a file.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from session_memory.core.errors import ConfigError


class Schedule(NamedTuple):
    """One choice of ``--every``. ``day`` and ``week`` run at noon, when most machines are on."""

    words: str
    systemd: str
    launchd: tuple[dict[str, int], ...]
    cron: str


SCHEDULES = {
    "15min": Schedule(
        "every 15 minutes",
        "*-*-* *:00/15:00",
        tuple({"Minute": minute} for minute in (0, 15, 30, 45)),
        "*/15 * * * *",
    ),
    "hour": Schedule("every hour", "*-*-* *:00:00", ({"Minute": 0},), "0 * * * *"),
    "day": Schedule("every day", "*-*-* 12:00:00", ({"Hour": 12, "Minute": 0},), "0 12 * * *"),
    "week": Schedule(
        "every Monday",
        "Mon *-*-* 12:00:00",
        ({"Weekday": 1, "Hour": 12, "Minute": 0},),
        "0 12 * * 1",
    ),
}


def cron_line(schedule: Schedule, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """A line of a crontab. Cron gives the command to a shell, so every word is quoted."""
    values = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
    line = " ".join([*values, *map(shlex.quote, command)])
    if "\n" in line or "\r" in line:
        raise ConfigError("a crontab cannot contain a line break", "Use paths without line breaks.")
    # Cron ends the command at a percent sign, unless it has a backslash.
    return f"{schedule.cron} {line.replace('%', chr(92) + '%')}"
