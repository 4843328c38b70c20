"""List live sessions, the last changed first.

A closed session is never listed. An archived session is listed: it can be read, but accepts no
messages.
"""

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.live_session import opened_live
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("live list", "the last changed"),
        ("live list --cwd ~/src/web --limit 0", "all sessions of a directory"),
        ("live list --subagents --json", "with subagents, for a script"),
    ),
    json_shape='{"sessions": [{"session_id", "created_at", "updated_at", "system_prompt", "model",'
    ' "config", "status", "kind", "parent_session_id", "spawn_tool_call_id", "spawn_depth",'
    ' "lifecycle", "metadata", "title", "provider", "cwd", "api_base", "forked_from", "forked_at"},'
    ' …]}; "created_at" and "updated_at" in milliseconds; "forked_at" is the number of the message'
    ' up to which the session is a copy of "forked_from".',
)
@click.option("--cwd", metavar="DIR", help="Only sessions of this directory.")
@click.option(
    "--status",
    type=click.Choice(("active", "archived")),
    help="Only active or only archived sessions; by default both.",
)
@click.option("--subagents", is_flag=True, help="Also list subagents.")
@limit_option(20)
@click.pass_obj
def command(
    settings: Settings, cwd: str | None, status: str | None, subagents: bool, limit: int
) -> None:
    from session_memory.cli.lines.live import session_lines
    from session_memory.views.live import list_live

    with opened_live(settings) as live:
        listing = list_live(
            live, cwd=_directory(cwd), status=status, with_subagents=subagents, limit=limit
        )
    if settings.as_json:
        print_json(listing.to_dict())
        return
    print_lines(session_lines(listing.sessions, terminal_width()))
    if not listing.sessions and (cwd or status):
        remark(settings, "No live session matches. List all: session-memory live list --subagents")
    elif not listing.sessions:
        remark(settings, "No live sessions. docs/live.md shows how a runtime makes one.")
    elif len(listing.sessions) == limit:
        remark(settings, "There may be more: --limit 0 lists all.")


def _directory(cwd: str | None) -> str | None:
    from pathlib import Path

    return None if cwd is None else str(Path(cwd).expanduser().absolute())
