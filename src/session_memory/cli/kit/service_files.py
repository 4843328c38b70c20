"""The service file that keeps a watch running: a systemd user unit or a launchd agent.

Nothing here writes a file. Paths and values are quoted as each format requires.
"""

import plistlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from session_memory.core.errors import ConfigError

NAME = "session-memory"
LABEL = "session-memory.watch"
SYSTEMD, LAUNCHD = "systemd", "launchd"
MARK = f"Written by: {NAME} service install. Remove it with: {NAME} service uninstall"

_UNIT = """\
# {mark}
[Unit]
Description=Session Memory: follow the logs of coding agents

[Service]
Type=exec
ExecStart={command}
{environment}\
Restart=on-failure
RestartSec=10
Nice=10
UMask=0077
NoNewPrivileges=true
LockPersonality=true
RestrictRealtime=true
RestrictSUIDSGID=true
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6

[Install]
WantedBy=default.target
"""


def systemd_unit(command: Sequence[str], environment: Mapping[str, str]) -> str:
    program, *words = command
    # systemd replaces variables in arguments, but not in the name of the program.
    line = " ".join([_quoted(program), *(_quoted(word.replace("$", "$$")) for word in words)])
    pairs = (f"Environment={_quoted(f'{name}={value}')}\n" for name, value in environment.items())
    return _UNIT.format(mark=MARK, command=line, environment="".join(pairs))


def _quoted(word: str) -> str:
    """One word of a unit file. A percent sign is doubled, because it starts a specifier."""
    if re.fullmatch(r"[A-Za-z0-9_./:=@+-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\x{ord(one[0]):02x}", escaped) + '"'


def launchd_agent(command: Sequence[str], environment: Mapping[str, str], log: Path) -> str:
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
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


def unit_path(manager: str, home: Path, environ: Mapping[str, str]) -> Path:
    """The path where the user's service manager looks for the file."""
    if manager == LAUNCHD:
        return home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "systemd" / "user" / f"{NAME}.service"


def starting(manager: str, path: Path, uid: int) -> list[list[str]]:
    """The commands that start the service now and at every login."""
    if manager == LAUNCHD:
        return [["launchctl", "bootstrap", f"gui/{uid}", str(path)]]
    return [
        ["systemctl", "--user", "daemon-reload"],
        ["systemctl", "--user", "enable", "--now", path.name],
    ]


def stopping(manager: str, path: Path, uid: int) -> list[list[str]]:
    """The commands that stop the service and disable it, before its file is removed."""
    if manager == LAUNCHD:
        return [["launchctl", "bootout", f"gui/{uid}/{LABEL}"]]
    return [["systemctl", "--user", "disable", "--now", path.name]]


def asking(manager: str, path: Path, uid: int) -> list[str]:
    """The command that checks whether the service runs: exit status 0 if it does."""
    if manager == LAUNCHD:
        return ["launchctl", "print", f"gui/{uid}/{LABEL}"]
    return ["systemctl", "--user", "is-active", path.name]
