"""Collect and analyze in the background.

service install writes a systemd user unit or a launchd agent that runs session-memory watch
--analyze with the current store and configuration. With --every it writes a timer that runs
session-memory sync --analyze instead, and with --manager cron it only prints the line for a
crontab. It shows the files first, and asks before it writes them. Nothing is started without
--start. If retention is turned on, the service evicts old sessions as well: it moves their logs to
the archive.

service status says whether the service is installed and running. service uninstall removes it.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import PROGRAM, make_command
from session_memory.cli.kit.confirm import confirm
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe, safe_lines

if TYPE_CHECKING:
    from session_memory.cli.kit.service_plan import Plan, Work

EVERY = ("15min", "hour", "day", "week")
ACTIONS = ("install", "uninstall", "status")
MANAGERS = ("systemd", "launchd", "cron")
# Options of some actions, by the names of their parameters.
OPTIONS = {
    "dry_run": ("--dry-run", ("install", "uninstall")),
    "yes": ("--yes", ("install", "uninstall")),
    "start": ("--start", ("install",)),
    "stop": ("--stop", ("uninstall",)),
    "analyze": ("--analyze", ("install",)),
    "retros": ("--retro", ("install",)),
    "serves": ("--web", ("install",)),
    "every": ("--every", ("install",)),
}


@make_command(
    examples=(
        ("service install --dry-run", "only show the file"),
        ("service install --start", "write it and start it"),
        ("service install --retro ~/notes --start", "and write a retrospective every week"),
        ("service install --web --start", "and serve the web page"),
        ("service install --every hour --start", "a timer instead of a process that always runs"),
        ("service install --every day --manager cron", "the line for a crontab"),
        ("service status", "is it installed and running?"),
        ("service uninstall --stop", "stop it and remove its file"),
    ),
    json_shape='install: {"manager", "path", "text", "files": [{"path", "text"}, …], "written",'
    ' "next"}; uninstall: {"manager", "path", "removed", "next"}; status: {"manager", "path",'
    ' "installed", "timer", "analyzes", "running", "why", "last_collected_at",'
    ' "waiting_for_analysis"}. "next" are commands to run now; "why": what the manager says if it'
    ' does not run; "waiting_for_analysis" counts sessions.',
)
@click.argument("action", type=click.Choice(ACTIONS))
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--start", is_flag=True, help="install: start it now and at every login.")
@click.option("--stop", is_flag=True, help="uninstall: stop it before its file is removed.")
@click.option(
    "--analyze/--no-analyze",
    default=True,
    show_default=True,
    help="Also analyze sessions: new ones, and old ones that were not analyzed yet.",
)
@click.option(
    "--retro",
    "retros",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the retrospective of each week to this directory.",
)
@click.option(
    "--web", "serves", is_flag=True, help="Serve the web page too; session-memory web opens it."
)
@click.option(
    "--every",
    type=click.Choice(EVERY),
    help="Run a sync at this interval, instead of a watch that always runs; day: at noon, week:"
    " on Monday at noon. With --manager cron the default is hour.",
)
@click.option(
    "--manager",
    type=click.Choice(MANAGERS),
    help="The service manager; by default that of this machine.",
)
@click.pass_obj
def command(
    settings: Settings,
    action: str,
    dry_run: bool,
    yes: bool,
    start: bool,
    stop: bool,
    analyze: bool,
    retros: Path | None,
    serves: bool,
    every: str | None,
    manager: str | None,
) -> None:
    _refuse_options_of_others(action)
    if retros is not None and not analyze:
        raise click.UsageError("a retrospective needs the analysis: leave out --no-analyze")
    if serves and (every is not None or manager == "cron"):
        raise click.UsageError("the web page needs a watch that always runs: leave out --every")
    from session_memory.cli.kit.service_plan import Work, service_plan

    work = Work(analyze, retros, every, serves)
    if manager == "cron":
        _show_cron_line(settings, action, work)
        return
    plan = service_plan(settings, manager, work if action == "install" else None)
    if action == "install":
        _install(settings, plan, dry_run=dry_run, yes=yes, start=start)
    elif action == "uninstall":
        _uninstall(settings, plan, dry_run=dry_run, yes=yes, stop=stop)
    else:
        _status(settings, plan)


def _refuse_options_of_others(action: str) -> None:
    """Refuse options that have no effect with this action."""
    ctx = click.get_current_context()
    for name, (option, actions) in OPTIONS.items():
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and action not in actions:
            raise click.UsageError(f"{option} is for service {' and '.join(actions)}")


def _install(settings: Settings, plan: "Plan", *, dry_run: bool, yes: bool, start: bool) -> None:
    from session_memory.cli.kit.own_file import refuse_foreign, write_own
    from session_memory.cli.kit.service_files import MARK, starting

    for file in plan.files:
        refuse_foreign(file.path, MARK)
        if not settings.as_json:
            click.echo(f"# {safe(short_path(file.path))}")
            click.echo("\n".join(safe_lines(file.text.rstrip("\n"))))
    written = not dry_run
    if written:
        names = " and ".join(short_path(file.path) for file in plan.files)
        confirm(settings, f"Write this to {names}?", yes=yes)
        for file in plan.files:
            write_own(file.path, file.text, MARK)
        remark(settings, f"Written: {names}")
    left = starting(plan.manager, plan.started, os.getuid())
    if start and written:
        left = _run_all([*_unloading(plan), *left])
    files = [{"path": str(file.path), "text": file.text} for file in plan.files]
    _show_next(
        settings, {"manager": plan.manager, **files[0], "files": files, "written": written}, left
    )


def _unloading(plan: "Plan") -> list[list[str]]:
    """Return the commands to unload a loaded launchd service, so that its new file is read."""
    from session_memory.cli.kit import service_files as files

    if plan.manager != files.LAUNCHD:
        return []
    is_loaded, _ = _is_running(files.asking(plan.manager, plan.started, os.getuid()))
    return files.stopping(plan.manager, plan.started, os.getuid()) if is_loaded else []


def _uninstall(settings: Settings, plan: "Plan", *, dry_run: bool, yes: bool, stop: bool) -> None:
    from session_memory.cli.kit.own_file import refuse_foreign, remove_own
    from session_memory.cli.kit.service_files import MARK, stopping

    there = [file.path for file in plan.files if file.path.exists() or file.path.is_symlink()]
    for path in there:
        refuse_foreign(path, MARK)
    left = stopping(plan.manager, plan.started, os.getuid()) if there else []
    removed = bool(there) and not dry_run
    names = " and ".join(short_path(path) for path in there or [plan.path])
    if removed:
        confirm(settings, f"Remove {names}?", yes=yes)
        left = _stopped(plan, left, stop)
        for path in there:
            remove_own(path, MARK)
    if not settings.as_json:
        action = "Removed" if removed else "Would remove" if there else "There is no"
        click.echo(safe(f"{action} {names}"))
    values = {"manager": plan.manager, "path": str(plan.path), "removed": removed}
    _show_next(settings, values, left)


def _stopped(plan: "Plan", commands: list[list[str]], stop: bool) -> list[list[str]]:
    """Stop the service before its file is removed: the manager finds it by the file."""
    from session_memory.cli.kit.service_files import asking

    running, _ = _is_running(asking(plan.manager, plan.started, os.getuid()))
    if running and not stop:
        raise click.UsageError(
            f"the service is running: give --stop, or run {shlex.join(commands[0])}"
        )
    return _run_all(commands) if stop else []


def _status(settings: Settings, plan: "Plan") -> None:
    from session_memory.cli.kit.service_files import TIMER_LABEL, TIMER_NAME, asking
    from session_memory.views.figures import local, plural

    running, why = _is_running(asking(plan.manager, plan.started, os.getuid()))
    seen, waiting = _store_state(settings)
    installed = plan.is_installed
    text = plan.path.read_text("utf-8", errors="replace") if plan.path.is_file() else ""
    is_timer, analyzes = (
        TIMER_NAME in plan.path.name or TIMER_LABEL in plan.path.name,
        ("--analyze" in text),
    )
    if settings.as_json:
        values = {"manager": plan.manager, "path": str(plan.path), "installed": installed}
        values |= {"timer": is_timer, "analyzes": analyzes, "running": running, "why": why}
        print_json({**values, "last_collected_at": seen, "waiting_for_analysis": waiting})
        return
    state = "not installed" if not installed else "timer installed" if is_timer else "installed"
    click.echo(safe(f"{plan.manager}: {state}, {short_path(plan.path)}"))
    click.echo(safe(f"running: {'yes' if running else 'no'}{f' ({why})' if why else ''}"))
    click.echo(f"last collected: {local(seen)}")
    if waiting is not None:
        click.echo(f"waiting for analysis: {plural(waiting, 'session')}")
    if not installed:
        remark(settings, f"Install it: {PROGRAM} service install")
    elif not analyzes:
        remark(settings, f"It does not analyze. Install it again: {PROGRAM} service install")


def _show_cron_line(settings: Settings, action: str, work: "Work") -> None:
    """Print the line for the crontab. The crontab itself is the user's and is not changed."""
    from session_memory.cli.kit.service_plan import service_line
    from session_memory.cli.kit.service_schedule import SCHEDULES, cron_line
    from session_memory.collect.variables import deciding_variables

    if action != "install":
        raise click.UsageError("see the line with crontab -l, remove it with crontab -e")
    every = work.every or "hour"
    line = service_line(settings, work._replace(every=every))
    text = cron_line(SCHEDULES[every], line, deciding_variables())
    if settings.as_json:
        values: dict[str, Any] = {
            "manager": "cron",
            "path": None,
            "text": text,
            "files": [],
            "written": False,
        }
        print_json({**values, "next": ["crontab -e"]})
        return
    click.echo(safe(text))
    remark(settings, "Add this line to your crontab: crontab -e")


# ---------------------------------------------------------------- running


def _run_all(commands: Sequence[Sequence[str]]) -> list[list[str]]:
    """Run all commands; raise if one fails. Return the commands left to run, which are none."""
    for words in commands:
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        except OSError as error:
            raise _not_managed(words, error.strerror or str(error)) from error
        if done.returncode:
            raise _not_managed(words, done.stderr.strip() or f"exit status {done.returncode}")
    return []


def _not_managed(words: Sequence[str], reason: str) -> Exception:
    from session_memory.core.errors import SessionMemoryError

    hint = f"Without a service manager, run it yourself: {PROGRAM} watch"
    return SessionMemoryError(f"{shlex.join(words)}: {reason}", hint)


def _is_running(question: list[str]) -> tuple[bool, str]:
    if shutil.which(question[0]) is None:
        return False, f"{question[0]} is not on this machine"
    done = subprocess.run(question, capture_output=True, text=True, timeout=60, check=False)
    reason = (done.stdout if question[0] == "systemctl" else "").strip() or done.stderr.strip()
    return done.returncode == 0, "" if done.returncode == 0 else reason.splitlines()[0]


def _store_state(settings: Settings) -> tuple[str | None, int | None]:
    """Return when a log was last collected and how many sessions wait for analysis.

    Both are None if the store cannot be opened; the first also if nothing was collected.
    """
    from session_memory.core.errors import StoreError
    from session_memory.core.time import format_time
    from session_memory.store.digests import Digests

    try:
        with settings.opened() as store:
            moments = [row.ingested_at for row in store.sources.every() if row.ingested_at]
            waiting = Digests(store.db).count_waiting()
    except StoreError:
        return None, None
    return (format_time(max(moments)) if moments else None), waiting


def _show_next(settings: Settings, values: dict[str, Any], left: list[list[str]]) -> None:
    lines = [shlex.join(words) for words in left]
    if settings.as_json:
        print_json({**values, "next": lines})
    elif not settings.quiet:
        for line in _next_lines(lines):
            click.echo(safe(line))


def _next_lines(lines: list[str]) -> Iterator[str]:
    if lines:
        yield "Next:"
    for line in lines:
        yield f"  {line}"
