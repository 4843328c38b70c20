"""Start a new session that shares the messages of another.

Prints the id of the new session. Earlier messages are shared, not copied. Later messages of one
session are not in the other.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("live fork sess_4f1c", "from its last message"),
        ("live fork sess_4f1c --at 12", "from message 12"),
        ("live fork sess_4f1c --id try-2 --title 'another way'", "with an id and a title"),
    ),
    json_shape='{"session_id", "forked_from", "forked_at"}',
)
@session_argument
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="Share messages up to the one with this number; by default all that are not rewound.",
)
@click.option("--id", "new_id", metavar="ID", help="The id of the new session.")
@click.option("--title", metavar="TEXT", help="The title; by default that of the other session.")
@click.pass_obj
def command(
    settings: Settings, session: str, at: int | None, new_id: str | None, title: str | None
) -> None:
    with opened_session(settings, session) as (live, session_id):
        new = live.fork_session(session_id, at=at, new_id=new_id, title=title)
        row = live.get_session(new)
    if settings.as_json:
        forked_at = None if row is None else row.forked_at
        print_json({"session_id": new, "forked_from": session_id, "forked_at": forked_at})
    else:
        click.echo(new)
