"""Show a live session: messages, folds and open calls.

A fold is a summary in place of older messages. An open call has no result yet. Reading changes
nothing: an interrupted call stays open until live repair.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument, which_option
from session_memory.cli.kit.output import print_json, print_lines, terminal_width
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("live show sess_4f1c", "what the model is sent now"),
        ("live show sess_4f1c --which all", "also folded and rewound messages, marked"),
        ("live show sess_4f1c --full", "long messages whole"),
        ("live show sess_4f1c --json", "for a script"),
    ),
    json_shape='{"session": SESSION, "head", "messages": [{"session_id", "seq", "role", "name",'
    ' "content", "tool_calls", "tool_call_id", "round_index", "state", "meta", "created_at",'
    ' "stands_after"}, …],'
    ' "compactions": [{"compact_seq", "note_seq", "from_seq", "to_seq", "members", "is_undone",'
    ' …}, …], "pending": [{"call_id", "name", "arguments", "seq"}, …], "usage": {"sends",'
    ' "llm_calls", "prompt_tokens", "completion_tokens", …}, "children": [ID, …]}; the "state" of a'
    ' message is active, compacted_out (folded) or rewound; "stands_after": after which number the'
    " message stands, if this is not the one before; times in milliseconds.",
)
@session_argument
@which_option
@click.option("--full", is_flag=True, help="Do not shorten messages.")
@click.pass_obj
def command(settings: Settings, session: str, which: str, full: bool) -> None:
    from session_memory.cli.lines.live import view_lines
    from session_memory.views.live import show_live

    with opened_session(settings, session) as (live, session_id):
        view = show_live(live, session_id, which)
    if settings.as_json:
        print_json(view.to_dict())
    else:
        print_lines(view_lines(view, terminal_width(), full=full))
