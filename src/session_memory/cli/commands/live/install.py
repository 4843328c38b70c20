"""Connect coding agents with the memory: server, hooks, skill.

Shows the changes to the agent's own settings first and asks, unless you give --yes. Without AGENT
it only shows what is installed. Only entries for session-memory are written; comments and the order
of everything else stay. If an agent asks whether to trust a server, a hook or a folder, you decide
there: this command never answers for you.

Hooks: failure tells the agent what resolved the same error before, end collects and analyzes the
session. Both are on by default. prompt recalls an earlier session if it fits the prompt very well,
start adds a line about the tools of the memory. With --hooks none there are no hooks, only the
tools and the skill (a text that tells the agent when to use them). If you install again without an
option, its earlier value stays.
"""

import os
from typing import TYPE_CHECKING

import click
import msgspec

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.install_options import (
    carry_out,
    checked_agents,
    checked_events,
    here_root,
    hooks_option,
    install_options,
    project_root,
)
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.install.planning import Installer, InstallPlan


@make_command(
    examples=(
        ("install", "what is on this machine, and what can be done"),
        ("install claude codex --dry-run", "only show the changes"),
        ("install claude --yes", "for all your projects"),
        ("install codex --project", "for the project of this directory"),
        ("install claude --hooks failure,end,start", "with another hook"),
        ("install codex --hooks none", "the tools only"),
        ("install --status", "what is installed, and is it up to date?"),
        ("uninstall claude", "undo it"),
    ),
    json_shape='{"agents": [{"agent", "root", "hooks", "advice"}, …], "files": [{"path", "action",'
    ' "diff"}, …], "written"}; with --status or without AGENT: {"agents": [{"agent", "title",'
    ' "here", "level", "root", "installed", "hooks", "server", "program", "program_exists",'
    ' "outdated", "problem"}, …]}',
)
@install_options
@hooks_option
@click.option(
    "--skill/--no-skill", default=None, help="Install the skill as well.  [default: skill]"
)
@click.option(
    "--through-server/--no-through-server",
    default=None,
    help="Let hooks ask the running MCP server and start no process, if the agent can do that"
    " (Claude Code).",
)
@click.option("--status", is_flag=True, help="Show what is installed; change nothing.")
@click.pass_obj
def command(
    settings: Settings,
    agents: tuple[str, ...],
    project: bool,
    dry_run: bool,
    yes: bool,
    hooks: str | None,
    skill: bool | None,
    through_server: bool | None,
    status: bool,
) -> None:
    from session_memory.install.agents import setup_of
    from session_memory.install.planning import Installer
    from session_memory.install.program import is_temporary, option_words, program_words

    names, events = checked_agents(agents), checked_events(hooks)
    words = (*program_words(), *option_words(settings.store, settings.config))
    installer = Installer(os.environ)
    if status or not names:
        _show_status(settings, installer, words, names)
        return
    root = project_root(project)
    wanted = [
        installer.wanted(
            name, root, words, hooks=events, skill=skill, through_server=through_server
        )
        for name in names
    ]
    plan = installer.plan(wanted)
    described, sentences = [], []
    for one in wanted:
        request = installer.request(one, [other.key for other in plan.agents])
        advice = setup_of(one.agent).advice(installer.place(root), request)
        advice += _missing_events(one.agent, events or ())
        sentences += advice
        described.append(
            {"agent": one.agent, "root": root or None, "hooks": one.hooks, "advice": advice}
        )
    carry_out(settings, plan, {"agents": described}, dry_run=dry_run, yes=yes)
    if is_temporary(words[0]):
        remark(settings, f"{words[0]} may be deleted: install session-memory for good first.")
    for sentence in dict.fromkeys([*sentences, *_other_advice(installer, plan, names, root)]):
        remark(settings, sentence)


def _other_advice(
    installer: "Installer", plan: "InstallPlan", names: list[str], root: str
) -> list[str]:
    """Return advice about other connected agents that also read the files written for ``names``."""
    from session_memory.install.agents import setup_of

    keys = [one.key for one in plan.agents]
    others = [
        one
        for one in plan.agents
        if one.root == root and one.agent not in names and {*setup_of(one.agent).reads} & {*names}
    ]
    return [
        sentence
        for one in others
        for sentence in setup_of(one.agent).advice(
            installer.place(root), installer.request(one, keys)
        )
    ]


def _missing_events(name: str, events: tuple[str, ...]) -> list[str]:
    """Return a sentence that names requested hooks which the agent does not have."""
    from session_memory.install.agents import setup_of

    setup = setup_of(name)
    missing = [event for event in events if event not in setup.events]
    return [f"{setup.title} has no hook for: {', '.join(missing)}."] if missing else []


def _show_status(
    settings: Settings, installer: "Installer", words: tuple[str, ...], names: list[str]
) -> None:
    from session_memory.cli.lines.installation import status_lines
    from session_memory.install.status import statuses

    root = here_root()
    found = [one for one in statuses(installer, words, root) if not names or one.agent in names]
    if settings.as_json:
        print_json({"agents": msgspec.to_builtins(found)})
        return
    print_lines(status_lines(found, terminal_width()))
    ready = [one.agent for one in found if one.here and not one.installed and not one.problem]
    if ready:
        remark(settings, f"Connect them: session-memory install {' '.join(ready)}")
