"""Undo the last rewind or clear, or the last compaction.

A runtime can also clear a session (rewind it to the beginning), or return to a rewound message;
both are undone in the same way. Messages that were added since then stay in the store, but are not
sent to the model any more. Run the command again to undo the one before.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe


@make_command(
    examples=(
        ("live undo sess_4f1c", "undo the last rewind or clear"),
        ("live undo sess_4f1c --compaction", "undo the last compaction"),
    ),
    json_shape='{"session_id", "head"}; with --compaction {"session_id", "compact_seq"}.',
)
@session_argument
@click.option("--compaction", is_flag=True, help="Undo the last compaction instead.")
@click.pass_obj
def command(settings: Settings, session: str, compaction: bool) -> None:
    with opened_session(settings, session) as (live, session_id):
        done = live.undo_compaction(session_id) if compaction else live.undo_rewind(session_id)
    if settings.as_json:
        name = "compact_seq" if compaction else "head"
        print_json({"session_id": session_id, name: done})
    elif not settings.quiet:
        state = f"compaction {done} is undone" if compaction else f"is at message {done} again"
        click.echo(safe(f"{session_id}: {state}"))
