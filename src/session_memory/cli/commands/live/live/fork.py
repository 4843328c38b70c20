"""Start a session that shares another's past.

Prints the id of the new one. The past is shared, not copied; from then on each goes its way.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("live fork sess_4f1c", "a second session from where this one stands"),
        ("live fork sess_4f1c --at 12", "from an earlier message"),
        ("live fork sess_4f1c --id try-2 --title 'another way'", "with a name of its own"),
    ),
    json_shape='{"session_id", "forked_from", "forked_at"}',
)
@session_argument
@click.option("--at", type=click.IntRange(min=0), metavar="SEQ", help="Share the past up to here.")
@click.option("--id", "new_id", metavar="ID", help="The id of the new session.")
@click.option("--title", metavar="TEXT", help="Its title; by default that of the other.")
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
