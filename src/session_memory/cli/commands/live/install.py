"""Connect coding agents with the memory: server, hooks, skill.

Shows the changes to the agent's own settings first and asks. Only our entries are written; comments
and the order of everything else stay. The program never trusts itself in your name: if an agent
asks whether to trust a server, a hook or a folder, you decide there.

Hooks: failure tells the agent what resolved the same error before, end collects the session. Both
are on by default. prompt recalls earlier sessions for each prompt, start adds a line about the
repository. With --hooks none the agent has the tools only.
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
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("install claude codex --dry-run", "only show the changes"),
        ("install claude --yes", "for all your projects"),
        ("install codex --project", "for the project of this directory"),
        ("install claude --hooks failure,end,start", "with another hook"),
        ("install codex --hooks none", "the tools only"),
        ("uninstall claude", "undo it"),
    ),
    json_shape='{"agents": [{"agent", "root", "hooks", "advice"}, …], "files": [{"path", "action",'
    ' "diff"}, …], "written"}',
)
@install_options
@click.option(
    "--hooks",
    metavar="EVENTS",
    help="failure, end, prompt, start, with commas between them; or none.  [default: failure,end]",
)
@click.option("--skill/--no-skill", default=True, help="Write the skill too.", show_default=True)
@click.pass_obj
def command(
    settings: Settings,
    agents: tuple[str, ...],
    project: bool,
    dry_run: bool,
    yes: bool,
    hooks: str | None,
    skill: bool,
) -> None:
    from session_memory.install.agent import Request
    from session_memory.install.agents import setup_of
    from session_memory.install.planning import Installer
    from session_memory.install.program import option_words, program_words
    from session_memory.install.record import InstalledAgent

    names, root = checked_agents(agents), project_root(project)
    if not names:
        raise click.UsageError("name the agents to install in")
    events = checked_events(hooks)
    words = (*program_words(), *option_words(settings.store, settings.config))
    installer = Installer(os.environ)
    wanted = [
        InstalledAgent(name, root, setup_of(name).hooks_of(events), words, skill) for name in names
    ]
    plan = installer.plan(wanted)
    described = []
    for one in wanted:
        request = Request(one.words, one.hooks, one.skill)
        advice = setup_of(one.agent).advice(installer.place(root), request)
        described.append(
            {"agent": one.agent, "root": root or None, "hooks": one.hooks, "advice": advice}
        )
    carry_out(settings, plan, {"agents": described}, dry_run=dry_run, yes=yes)
    for entry in described:
        for sentence in entry["advice"] or ():
            remark(settings, str(sentence))


def checked_events(hooks: str | None) -> tuple[str, ...]:
    from session_memory.install.agent import DEFAULT_EVENTS, EVENTS

    if hooks is None:
        return DEFAULT_EVENTS
    named = [word.strip() for word in hooks.split(",") if word.strip()]
    if named == ["none"]:
        return ()
    for word in named:
        if word not in EVENTS:
            raise click.UsageError(f"no hook {word}; known are {', '.join(EVENTS)}, or none")
    return tuple(named)
