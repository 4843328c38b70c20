"""List the shell commands that sessions ran, and how each ended.

Without UID, lists the commands of all matching sessions, newest session first. Commands of
subagents are included. A command is "ok", "failed", or "open" if the log has no result of it.
Evicted sessions (their logs were moved to the archive) are read only if you name them. If some are
left out, the exit status is 3.
"""

from datetime import tzinfo
from typing import Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import (
    print_json,
    print_lines,
    remark,
    terminal_width,
)
from session_memory.cli.kit.session_choice import filter_options, refuse_both
from session_memory.cli.kit.settings import Settings

STATES = ("ok", "failed", "open")


@make_command(
    examples=(
        ("commands 7ac31f58", "what one session ran"),
        ("commands --state failed --since 7d", "what failed this week"),
        ("commands --text pytest --repo webshop", "all test runs in a repository"),
    ),
    json_shape='{"commands": [{"session_uid", "event_uid", "seq", "ts", "tool", "command",'
    ' "state", "exit_code", "duration_ms", "is_test"}, …], "total", "total_exact"};'
    ' if "total_exact" is false, --limit cut the list, and "total" is only an estimate (with'
    ' --text, and for an evicted session, a lower bound); "evicted" is the number of evicted'
    " sessions that were left out, if any.",
)
@click.argument("session", metavar="[UID]", required=False, shell_complete=complete_uid)
@filter_options
@click.option("--state", type=click.Choice(STATES), help="Only commands with this result.")
@click.option("--text", metavar="TEXT", help="Only commands that contain this text.")
@limit_option(50)
@click.pass_obj
def command(
    settings: Settings,
    /,
    session: str | None,
    state: str | None,
    text: str | None,
    limit: int,
    tz: tzinfo | None,
    **filters: Any,
) -> None:
    from session_memory.cli.lines.command_table import command_lines
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.views.short_names import short_names

    refuse_both(session, filters)
    with settings.memory() as memory:
        listing = memory.commands(session, state=state, text=text, limit=limit, **filters)
        names = short_names(memory.store, {ran.session_uid for ran in listing.commands})
    if settings.as_json:
        print_json(listing.to_dict())
        end_incomplete(settings, listing.evicted)
        return
    print_lines(command_lines(listing, names, terminal_width(), tz))
    if not listing.total:
        remark(settings, _nothing(state, text))
    elif len(listing.commands) < listing.total:
        # The total is known only after all commands were read, with --text not even about.
        # Nor is it known for an evicted session: then it is one more than the number listed.
        is_known = text is None and listing.total > len(listing.commands) + 1
        whole = f" of about {listing.total:,}" if is_known else ""
        shown = f"The first {len(listing.commands):,}{whole} commands"
        remark(settings, f"{shown}; --limit 0 lists all.")
    end_incomplete(settings, listing.evicted)


def _nothing(state: str | None, text: str | None) -> str:
    if state is None and text is None:
        return "No command was run in these sessions."
    ended = {"ok": " went well", "failed": " failed", "open": " is without a result", None: ""}
    words = "" if text is None else f" with {text!r} in it"
    return f"No command{words}{ended[state] or ' was run'} in these sessions."
