"""The texts of the service's files: systemd user units or a launchd agent.

The service keeps ``session-memory watch`` running, or runs ``session-memory sync`` at set times.
Nothing here writes a file. Paths and values are quoted as each format requires.
"""

import plistlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from session_memory.cli.kit.service_schedule import Schedule
from session_memory.core.errors import ConfigError

NAME = "session-memory"
TIMER_NAME = "session-memory-sync"
LABEL = "session-memory.watch"
TIMER_LABEL = "session-memory.sync"
SYSTEMD, LAUNCHD, CRON = "systemd", "launchd", "cron"
MARK = f"Written by: {NAME} service install. Remove it with: {NAME} service uninstall"

_UNIT = """\
# {mark}
[Unit]
Description=Session Memory: {description}

[Service]
{way}ExecStart={command}
{environment}\
Nice=10
UMask=0077
NoNewPrivileges=true
LockPersonality=true
RestrictRealtime=true
RestrictSUIDSGID=true
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
"""
_RUNS_ALWAYS = "Type=exec\nRestart=on-failure\nRestartSec=10\n"
# Exit status 3: everything was collected, but some lines are bad.
_RUNS_ONCE = "Type=oneshot\nSuccessExitStatus=3\n"
_AT_LOGIN = "\n[Install]\nWantedBy=default.target\n"
_TIMER = """\
# {mark}
[Unit]
Description=Session Memory: collect the logs of coding agents {words}

[Timer]
OnCalendar={calendar}
Persistent=true

[Install]
WantedBy=timers.target
"""


def systemd_timer(schedule: Schedule) -> str:
    """Return the timer unit. A run that was missed because the machine was off is made up for."""
    return _TIMER.format(mark=MARK, words=schedule.words, calendar=schedule.systemd)


def systemd_unit(
    command: Sequence[str], environment: Mapping[str, str], *, once: bool = False
) -> str:
    """Return a service unit that always runs, or with ``once`` one that a timer starts."""
    program, *words = command
    # systemd replaces variables in arguments, but not in the name of the program.
    line = " ".join([_quoted(program), *(_quoted(word.replace("$", "$$")) for word in words)])
    pairs = (f"Environment={_quoted(f'{name}={value}')}\n" for name, value in environment.items())
    unit = _UNIT.format(
        mark=MARK,
        description="collect the logs of coding agents"
        if once
        else "follow the logs of coding agents",
        way=_RUNS_ONCE if once else _RUNS_ALWAYS,
        command=line,
        environment="".join(pairs),
    )
    return unit if once else unit + _AT_LOGIN


def _quoted(word: str) -> str:
    """Quote one word for a unit file. A percent sign is doubled, because it starts a specifier."""
    if re.fullmatch(r"[A-Za-z0-9_./:=@+-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\x{ord(one[0]):02x}", escaped) + '"'


def launchd_agent(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    schedule: Schedule | None = None,
) -> str:
    """Return the file of a launchd agent that always runs, or of one with a ``schedule``.

    The latter runs at login and at the times of the schedule. Errors go to the file ``log``.
    """
    way: dict[str, Any] = {"KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 10}
    if schedule is not None:
        way = {"StartCalendarInterval": [dict(one) for one in schedule.launchd]}
    agent = {
        "Label": LABEL if schedule is None else TIMER_LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(environment),
        "RunAtLoad": True,
        **way,
        "ProcessType": "Background",
        "Nice": 10,
        "LowPriorityIO": True,
        "Umask": 0o077,
        "StandardErrorPath": str(log),
    }
    try:
        text = plistlib.dumps(agent, sort_keys=False).decode()
    except ValueError as error:
        hint = "Use paths without control characters."
        raise ConfigError(f"a launchd file cannot contain this path: {error}", hint) from error
    head, _, rest = text.partition("<plist")
    return f"{head}<!-- {MARK} -->\n<plist{rest}"


def unit_path(manager: str, home: Path, environ: Mapping[str, str], *, timed: bool = False) -> Path:
    """Return where the service manager looks for the file with the service's command.

    ``timed`` is the service that a timer starts; it has a name of its own.
    """
    if manager == LAUNCHD:
        label = TIMER_LABEL if timed else LABEL
        return home / "Library" / "LaunchAgents" / f"{label}.plist"
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "systemd" / "user" / f"{TIMER_NAME if timed else NAME}.service"


def starting(manager: str, path: Path, uid: int) -> list[list[str]]:
    """The commands that start the service now and at every login."""
    if manager == LAUNCHD:
        return [["launchctl", "bootstrap", f"gui/{uid}", str(path)]]
    return [
        ["systemctl", "--user", "daemon-reload"],
        ["systemctl", "--user", "enable", path.name],
        # A service that runs already must run the new command.
        ["systemctl", "--user", "restart", path.name],
    ]


def stopping(manager: str, path: Path, uid: int) -> list[list[str]]:
    """The commands that stop the service and disable it, before its file is removed."""
    if manager == LAUNCHD:
        return [["launchctl", "bootout", f"gui/{uid}/{path.stem}"]]
    return [["systemctl", "--user", "disable", "--now", path.name]]


def asking(manager: str, path: Path, uid: int) -> list[str]:
    """The command that checks whether the service runs: exit status 0 if it does."""
    if manager == LAUNCHD:
        return ["launchctl", "print", f"gui/{uid}/{path.stem}"]
    return ["systemctl", "--user", "is-active", path.name]
