"""Collect in the background: install, remove or check a service.

Writes one file, a systemd user unit or a launchd agent, that runs session-memory watch with the
present store and configuration. The file is shown first. Nothing is started without --start.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from session_memory.cli.kit.command import PROGRAM, make_command
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe, safe_lines

ACTIONS = ("install", "uninstall", "status")
MANAGERS = ("systemd", "launchd")


class Plan(NamedTuple):
    """The service: its manager, the path of its file, and the text of the file."""

    manager: str
    path: Path
    text: str


@make_command(
    examples=(
        ("service install --dry-run", "only show the file"),
        ("service install --start", "write it and start it"),
        ("service status", "is it installed and running?"),
        ("service uninstall --stop", "stop it and remove its file"),
    ),
    json_shape='install: {"manager", "path", "text", "written", "next"}; uninstall: {"manager",'
    ' "path", "removed", "next"}; status: {"manager", "path", "installed", "running", "why",'
    ' "last_collected_at"}. "next" are commands to run now.',
)
@click.argument("action", type=click.Choice(ACTIONS))
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--start", is_flag=True, help="Start it now and at every login.")
@click.option("--stop", is_flag=True, help="Stop it before it is removed.")
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
    manager: str | None,
) -> None:
    plan = _plan(settings, manager, with_text=action == "install")
    if action == "install":
        _install(settings, plan, dry_run=dry_run, yes=yes, start=start)
    elif action == "uninstall":
        _uninstall(settings, plan, dry_run=dry_run, yes=yes, stop=stop)
    else:
        _status(settings, plan)


def _install(settings: Settings, plan: Plan, *, dry_run: bool, yes: bool, start: bool) -> None:
    from session_memory.cli.kit.own_file import refuse_foreign, write_own
    from session_memory.cli.kit.service_files import MARK, starting

    refuse_foreign(plan.path, MARK)
    if not settings.as_json:
        click.echo(f"# {safe(short_path(plan.path))}")
        click.echo("\n".join(safe_lines(plan.text.rstrip("\n"))))
    written = not dry_run
    if written:
        _confirm(settings, yes, f"Write this to {short_path(plan.path)}?")
        write_own(plan.path, plan.text, MARK)
        remark(settings, f"Written: {short_path(plan.path)}")
    left = starting(plan.manager, plan.path, os.getuid())
    if start and written:
        left = _run_all(left)
    values = {"manager": plan.manager, "path": str(plan.path), "text": plan.text}
    _show_next(settings, {**values, "written": written}, left)


def _uninstall(settings: Settings, plan: Plan, *, dry_run: bool, yes: bool, stop: bool) -> None:
    from session_memory.cli.kit.own_file import refuse_foreign, remove_own
    from session_memory.cli.kit.service_files import MARK, stopping

    refuse_foreign(plan.path, MARK)
    left = stopping(plan.manager, plan.path, os.getuid()) if plan.path.exists() else []
    removed = plan.path.exists() and not dry_run
    if removed:
        _confirm(settings, yes, f"Remove {short_path(plan.path)}?")
        left = _stopped(plan, left, stop)
        remove_own(plan.path, MARK)
    if not settings.as_json:
        action = "Removed" if removed else "Would remove" if plan.path.exists() else "There is no"
        click.echo(safe(f"{action} {short_path(plan.path)}"))
    values = {"manager": plan.manager, "path": str(plan.path), "removed": removed}
    _show_next(settings, values, left)


def _stopped(plan: Plan, commands: list[list[str]], stop: bool) -> list[list[str]]:
    """Stop the service before its file is removed: the manager finds it by the file."""
    from session_memory.cli.kit.service_files import asking

    running, _ = _is_running(asking(plan.manager, plan.path, os.getuid()))
    if running and not stop:
        raise click.UsageError(
            f"the service is running: give --stop, or run {shlex.join(commands[0])}"
        )
    return _run_all(commands) if stop else []


def _status(settings: Settings, plan: Plan) -> None:
    from session_memory.cli.kit.service_files import asking
    from session_memory.views.figures import local

    running, why = _is_running(asking(plan.manager, plan.path, os.getuid()))
    seen = _last_collected(settings)
    if settings.as_json:
        values = {"manager": plan.manager, "path": str(plan.path), "installed": plan.path.exists()}
        print_json({**values, "running": running, "why": why, "last_collected_at": seen})
        return
    installed = "installed" if plan.path.exists() else "not installed"
    click.echo(safe(f"{plan.manager}: {installed}, {short_path(plan.path)}"))
    click.echo(safe(f"running: {'yes' if running else 'no'}{f' ({why})' if why else ''}"))
    click.echo(f"last collected: {local(seen)}")
    if not plan.path.exists():
        remark(settings, f"Install it: {PROGRAM} service install")


# ---------------------------------------------------------------- the command that it runs


def _plan(settings: Settings, manager: str | None, *, with_text: bool) -> Plan:
    from session_memory.cli.kit import service_files as files
    from session_memory.collect.variables import deciding_variables
    from session_memory.config import home

    manager = manager or (files.LAUNCHD if sys.platform == "darwin" else files.SYSTEMD)
    path = files.unit_path(manager, home(), os.environ)
    if not with_text:
        return Plan(manager, path, "")
    line, environment = _watch_line(settings), deciding_variables()
    if manager == files.LAUNCHD:
        log = home() / ".session-memory" / "watch.log"
        return Plan(manager, path, files.launchd_agent(line, environment, log))
    return Plan(manager, path, files.systemd_unit(line, environment))


def _watch_line(settings: Settings) -> list[str]:
    """The command that the service runs; --quiet keeps texts of sessions out of the system log."""
    from session_memory.config import CONFIG_VARIABLE, STORE_VARIABLE

    line = [*_program(), "watch", "--quiet", "--no-color"]
    if store := settings.store or os.environ.get(STORE_VARIABLE):
        line += ["--store", _without_secrets(store)]
    if config := settings.config or os.environ.get(CONFIG_VARIABLE):
        line += ["--config", str(Path(config).expanduser().absolute())]
    return line


def _program() -> list[str]:
    installed = Path(sys.executable).with_name(PROGRAM)
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "session_memory"]


def _without_secrets(store: str) -> str:
    """A path made absolute, or the address of a server; never one with a password in it."""
    from session_memory.core.errors import ConfigError
    from session_memory.store.address import has_password, is_postgres, is_unknown_address

    if is_unknown_address(store):
        # The message does not quote the text, because it may contain a password.
        hint = "Give the path of a file, or an address: postgresql://user@host:5432/database"
        raise ConfigError("the store is neither a file nor a PostgreSQL address", hint)
    if not is_postgres(store):
        return str(Path(store).expanduser().absolute())
    if has_password(store):
        message = "the address of the store has a password, which must not be in a service file"
        hint = "Put the password into ~/.pgpass, or the address into the configuration file."
        raise ConfigError(message, hint)
    return store.strip()


# ---------------------------------------------------------------- asking and running


def _confirm(settings: Settings, yes: bool, question: str) -> None:
    if yes:
        return
    if settings.as_json:
        raise click.UsageError("with --json, give --yes or --dry-run")
    try:
        click.confirm(safe(question), abort=True)
    except click.Abort:
        raise click.UsageError("nothing was changed; answer yes, or give --yes") from None


def _run_all(commands: Sequence[Sequence[str]]) -> list[list[str]]:
    """Run all commands. Returns the commands left to run, which are none."""
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


def _last_collected(settings: Settings) -> str | None:
    """When something was last collected; None without a store."""
    from session_memory.core.errors import StoreError
    from session_memory.core.time import format_time

    try:
        with settings.opened() as store:
            moments = [row.ingested_at for row in store.sources.every() if row.ingested_at]
    except StoreError:
        return None
    return format_time(max(moments)) if moments else None


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
