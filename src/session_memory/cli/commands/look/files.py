"""List the files that sessions read, edited and wrote.

Without UID, lists the files of all matching sessions. Subagents are included. Paths below the
session's directory are relative to it. A failed call counts only as "failed", not as read or
edited. A call without a result in the log counts as "open", a figure that only --json shows.
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
from session_memory.cli.kit.web_page import remark_answer, remark_page

SORTS = ("changed", "read", "recent", "path")


@make_command(
    examples=(
        ("files 7ac31f58", "what one session read and changed"),
        ("files --repo webshop --since 7d", "what was worked on this week"),
        ("files --sort read --limit 10", "which files are read most"),
    ),
    json_shape='{"files": [{"repo", "path", "reads", "edits", "writes", "other", "failed",'
    ' "open", "sessions", "last_at"}, …], "total", "sessions"}; "other" counts calls of other tools'
    ' that named the file; "evicted" is the number of evicted sessions that were left out, if any.',
)
@click.argument("session", metavar="[UID]", required=False, shell_complete=complete_uid)
@filter_options
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="changed",
    show_default=True,
    help="changed, read: most often first. recent: last used first. path: by name.",
)
@limit_option(50)
@click.pass_obj
def command(
    settings: Settings,
    /,
    session: str | None,
    sort: str,
    limit: int,
    tz: tzinfo | None,
    **filters: Any,
) -> None:
    from session_memory.cli.lines.file_table import file_lines
    from session_memory.cli.lines.retention import end_incomplete

    refuse_both(session, filters)
    with settings.memory() as memory:
        listing = memory.files(session, sort=sort, limit=limit, **filters)
        store = memory.store
        uid = None if session is None else memory.session(session).uid
    if settings.as_json:
        print_json(listing.to_dict())
        end_incomplete(settings, listing.evicted)
        return
    print_lines(file_lines(listing, terminal_width(), tz))
    if not listing.total:
        remark(settings, "No call in these sessions used a file.")
    elif len(listing.files) < listing.total:
        remark(settings, f"{len(listing.files):,} of {listing.total:,} files; --limit 0 lists all.")
    if uid is None:
        remark_answer(settings, store, "/work")
    else:
        remark_page(settings, store, uid, "changes")
    end_incomplete(settings, listing.evicted)
