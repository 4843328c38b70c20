"""Remove the memory from the settings of coding agents.

A file that nothing else changed since the installation gets back its former bytes. From other files
only the entries for session-memory are removed. Files that the installation created are deleted,
and directories that it created if they are empty then.
"""

import os

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.install_options import (
    carry_out,
    checked_agents,
    install_options,
    project_root,
)
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("uninstall claude", "show the changes, ask, write"),
        ("uninstall codex --project --yes", "from the project of this directory"),
        ("uninstall claude --dry-run", "only show the changes"),
    ),
    json_shape='{"agents": [{"agent", "root"}, …], "files": [{"path", "action", "diff"}, …],'
    ' "written"}',
)
@install_options
@click.pass_obj
def command(
    settings: Settings, agents: tuple[str, ...], project: bool, dry_run: bool, yes: bool
) -> None:
    from session_memory.install.planning import Installer

    names, root = checked_agents(agents), project_root(project)
    if not names:
        raise click.UsageError("name the agents to uninstall from")
    plan = Installer(os.environ).plan([], [(name, root) for name in names])
    described = [{"agent": name, "root": root or None} for name in names]
    carry_out(settings, plan, {"agents": described}, dry_run=dry_run, yes=yes)
