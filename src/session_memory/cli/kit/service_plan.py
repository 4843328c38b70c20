"""Plan the service that collects in the background: its files, their texts and its command.

Nothing here writes a file.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from session_memory.cli.kit import service_files as files
from session_memory.cli.kit.command import PROGRAM
from session_memory.cli.kit.service_schedule import SCHEDULES
from session_memory.cli.kit.settings import Settings
from session_memory.collect.variables import deciding_variables
from session_memory.config import home
from session_memory.core.errors import SessionMemoryError
from session_memory.install.program import option_words, program_words
from session_memory.render.paths import short_path


class ServiceFile(NamedTuple):
    path: Path
    text: str = ""


class Plan(NamedTuple):
    """The service: its manager (systemd or launchd) and its files, of which the last is started."""

    manager: str
    files: tuple[ServiceFile, ...]

    @property
    def path(self) -> Path:
        return self.files[0].path

    @property
    def started(self) -> Path:
        return self.files[-1].path

    @property
    def is_installed(self) -> bool:
        return any(file.path.exists() for file in self.files)


class Work(NamedTuple):
    """What the service does beside collecting.

    The service can analyze sessions, write retrospectives to the directory ``retros``, and serve
    the web page. With ``every`` (a key of ``SCHEDULES``) a timer starts the service again and
    again, and the service cannot serve the page.
    """

    analyze: bool = True
    retros: Path | None = None
    every: str | None = None
    serves: bool = False


def service_plan(settings: Settings, manager: str | None, work: Work | None) -> Plan:
    """Return the service to install for ``work``; without ``work`` the one that is installed."""
    manager = manager or (files.LAUNCHD if sys.platform == "darwin" else files.SYSTEMD)
    watch, timer = (Plan(manager, _service_files(manager, timed=timed)) for timed in (False, True))
    if work is None:
        return timer if timer.is_installed and not watch.is_installed else watch
    plan, other = (watch, timer) if work.every is None else (timer, watch)
    if other.is_installed:
        hint = f"Remove it first: {PROGRAM} service uninstall --stop"
        raise SessionMemoryError(
            f"the service is installed already in {short_path(other.path)}", hint
        )
    line, environment = service_line(settings, work), deciding_variables()
    schedule = None if work.every is None else SCHEDULES[work.every]
    if manager == files.LAUNCHD:
        log = home() / ".session-memory" / ("watch.log" if schedule is None else "sync.log")
        texts = [files.launchd_agent(line, environment, log, schedule)]
    else:
        texts = [files.systemd_unit(line, environment, once=schedule is not None)]
        texts += [] if schedule is None else [files.systemd_timer(schedule)]
    pairs = zip(plan.files, texts, strict=True)
    return Plan(manager, tuple(ServiceFile(file.path, text) for file, text in pairs))


def _service_files(manager: str, *, timed: bool) -> tuple[ServiceFile, ...]:
    path = files.unit_path(manager, home(), os.environ, timed=timed)
    if timed and manager == files.SYSTEMD:
        return (ServiceFile(path), ServiceFile(path.with_suffix(".timer")))
    return (ServiceFile(path),)


def service_line(settings: Settings, work: Work) -> list[str]:
    """Return the service's command. ``--quiet`` keeps texts of sessions out of the system log."""
    action = "watch" if work.every is None else "sync"
    line = [*program_words(), action, "--quiet", "--no-color"]
    if work.analyze:
        line.append("--analyze")
    if work.retros is not None:
        line += ["--retro", str(work.retros.expanduser().absolute())]
    if work.serves:
        line.append("--web")
    return line + option_words(settings.store, settings.config)
