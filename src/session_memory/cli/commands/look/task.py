"""Show or set the issue or ticket that a session works on.

Without UID, lists the tasks (issues, pull requests, tickets) with their sessions and what they
cost. Tasks come from the logs: from names of branches, prompts, pull requests that the agent
opened, and messages of commits. A REF that you give replaces the task from the logs, and survives
every sync and rebuild. A subagent without a task of its own has the task of its parent.
"""

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_answer, remark_page
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.memory import Memory


@make_command(
    examples=(
        ("task", "the newest tasks, with sessions and cost"),
        ("task 5b0c6a1e", "what this session works on"),
        ("task 5b0c6a1e '#12'", "say that it works on issue 12"),
        ("task 5b0c6a1e --none", "say that it works on no task"),
        ("task 5b0c6a1e --reset", "go back to what its logs say"),
    ),
    json_shape='{"session_uid", "task_ref"}; without UID {"tasks": [{"task", "repo", "sessions":'
    ' [UID, …], "ended_at", "microdollars", "unpriced_tokens"}, …], "total"}.',
)
@click.argument("session", required=False, metavar="[UID]", shell_complete=complete_uid)
@click.argument("ref", required=False, metavar="[REF]")
@click.option("--none", "is_none", is_flag=True, help="Say that the session has no task.")
@click.option("--reset", is_flag=True, help="Take the task from the logs again.")
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="List only tasks of this repository; wildcards: * and ?.",
)
@limit_option(20)
@click.pass_obj
def command(
    settings: Settings,
    session: str | None,
    ref: str | None,
    is_none: bool,
    reset: bool,
    repo: str | None,
    limit: int,
) -> None:
    if (ref is not None) + is_none + reset > 1:
        raise click.UsageError("give one of REF, --none and --reset")
    if session is None and (is_none or reset):
        raise click.UsageError("name a session")
    if session is not None:
        _refuse_list_options()
    with settings.memory() as memory:
        if session is None:
            _list(settings, memory, repo, limit)
            return
        found = memory.session(session)
        if ref is not None or is_none or reset:
            found.set_task(None if reset else ref or "")
        uid, task, store = found.uid, found.record.task_ref, memory.store
    if settings.as_json:
        print_json({"session_uid": uid, "task_ref": task})
    elif not settings.quiet:
        click.echo(safe(f"{uid} works on {task}" if task else f"{uid} has no task"))
    remark_page(settings, store, uid)


def _refuse_list_options() -> None:
    """Raise if the user gave an option of the list with a session, which would ignore it."""
    ctx = click.get_current_context()
    for name in ("repo", "limit"):
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for the list of tasks: leave out UID", ctx)


def _list(settings: Settings, memory: "Memory", repo: str | None, limit: int) -> None:
    from session_memory.cli.lines.tasks import task_lines

    listing = memory.tasks(repo=repo, limit=limit)
    if settings.as_json:
        print_json(listing.to_dict())
        return
    if not listing.tasks:
        where = "" if repo is None else f" of {repo}"
        remark(settings, f"No session{where} names a task. Set one: session-memory task UID REF")
        return
    print_lines(task_lines(listing, terminal_width()))
    if len(listing.tasks) < listing.total:
        remark(settings, f"{len(listing.tasks):,} of {listing.total:,} tasks; --limit 0 lists all.")
    remark(settings, "Next: session-memory sessions --task REF")
    remark_answer(settings, memory.store, "/sessions")
