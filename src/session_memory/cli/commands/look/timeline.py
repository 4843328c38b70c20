"""Show when things happened in a session and how long they took.

It lists prompts, calls with their durations, turns, errors, compactions, and pauses of five
minutes or more. Subagents are below the calls that started them, or at the end if the log does not
name the call. The bar in a line shows when in the session it happened; pauses take no room on the
bar.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json_list, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_page


@make_command(
    examples=(
        ("timeline 7ac31f58", "where the time went"),
        ("timeline 7ac31f58 --json", "the same for a script"),
    ),
    json_shape='{"session": UID, "started_at", "ended_at", "moments": [{"sort", "at", "seq",'
    ' "session_uid", "depth", "text", "tool", "state", "duration_ms", "tokens", "is_abandoned"},'
    ' …]}; "sort" is prompt, turn, tool, error, decision, compaction, subagent or gap; "state" of a'
    " call is ok, failed or open (without a result).",
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@click.pass_obj
def command(settings: Settings, session: str, no_pager: bool) -> None:
    from msgspec import to_builtins

    from session_memory.cli.kit.pager import print_paged
    from session_memory.cli.lines.timeline import timeline_lines

    with settings.memory() as memory:
        line = memory.session(session).timeline_stream()
        if settings.as_json:
            print_json_list(line.head(), "moments", map(to_builtins, line.moments()))
            return
        print_paged(settings, timeline_lines(line, terminal_width()), paged=not no_pager)
        remark_page(settings, memory.store, memory.session(session).uid, "map?by=time")
