"""Move a session back to an earlier message.

The messages after SEQ stay in the store. live undo brings them back.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe


@make_command(
    examples=(
        ("live rewind sess_4f1c 12", "message 12 is the last one now"),
        ("live rewind sess_4f1c 0", "to the beginning"),
        ("live undo sess_4f1c", "undo it"),
    ),
    json_shape='{"session_id", "from", "to"}',
)
@session_argument
@click.argument("seq", type=click.IntRange(min=0), metavar="SEQ")
@click.pass_obj
def command(settings: Settings, session: str, seq: int) -> None:
    with opened_session(settings, session) as (live, session_id):
        left = live.rewind(session_id, seq)
    if settings.as_json:
        print_json({"session_id": session_id, "from": left, "to": seq})
    elif not settings.quiet:
        undo = f"undo with: session-memory live undo {session_id}"
        click.echo(safe(f"{session_id} is now at message {seq} (was {left}); {undo}"))
