"""Options of ``install`` and ``uninstall``, and how both show, confirm and write their changes."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.confirm import confirm
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.install.planning import InstallPlan

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def install_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument AGENT… and the options that ``install`` and ``uninstall`` share."""
    project = "Only for the project of this directory, not for all your projects."
    decorators: tuple[Decorator, ...] = (
        click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=_complete),
        click.option("--project", is_flag=True, help=project),
        click.option("--dry-run", is_flag=True, help="Only show what would be done."),
        click.option("--yes", is_flag=True, help="Do not ask."),
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


hooks_option = click.option(
    "--hooks",
    metavar="EVENTS",
    help="Which hooks: failure, end, prompt, start, separated by commas; or none."
    "  [default: failure,end]",
)


def _complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from session_memory.install.agents import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def checked_agents(names: Iterable[str]) -> list[str]:
    from session_memory.install.agents import NAMES

    for name in names:
        if name not in NAMES:
            raise click.UsageError(f"no agent {safe(name)}; known are {', '.join(NAMES)}")
    return list(dict.fromkeys(names))


def checked_events(hooks: str | None) -> tuple[str, ...] | None:
    """Return the events named by ``--hooks``: None if it is not given, empty for ``none``."""
    from session_memory.install.agent import EVENTS

    if hooks is None:
        return None
    named = [word.strip() for word in hooks.split(",") if word.strip()]
    if named == ["none"]:
        return ()
    for word in named:
        if word not in EVENTS:
            raise click.UsageError(f"no hook {word}; known are {', '.join(EVENTS)}, or none")
    return tuple(named)


def project_root(is_project: bool) -> str:
    """Return the project's directory for ``--project``; without it an empty text: all projects."""
    if is_project and not here_root():
        raise click.UsageError("the home directory is not a project; leave out --project")
    return here_root() if is_project else ""


def here_root() -> str:
    """Return the root of the present git repository, or the present directory if there is none.

    For the home directory, which is no project, return an empty text.
    """
    from session_memory.config import home

    here = Path.cwd()
    found = next((one for one in (here, *here.parents) if (one / ".git").exists()), here)
    return "" if found.resolve() == home().resolve() else str(found)


def carry_out(
    settings: Settings, plan: "InstallPlan", values: dict[str, Any], *, dry_run: bool, yes: bool
) -> bool:
    """Show the planned changes, ask the user, and write them. Return whether a file was written."""
    from session_memory.cli.lines.installation import change_lines
    from session_memory.install.planning import Installer

    changes = [change for change in plan.changes if change.is_change]
    if not settings.as_json:
        for change in changes:
            for line in change_lines(change):
                click.echo(line)
    written = bool(changes) and not dry_run
    if written:
        confirm(settings, "Write this?", yes=yes)
    if not dry_run:
        Installer(os.environ).carry_out(plan)
    if settings.as_json:
        files = [change.to_dict() for change in changes]
        print_json({**values, "files": files, "written": written})
    elif not changes:
        remark(settings, "Nothing to do.")
    return written
