"""Answer interrupted calls with an error.

Every call without a result gets an error as its result, right after the message that made the call.
Use this only when no runtime works on the session: the call of a tool that still runs would get two
results.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("live show sess_4f1c", "see which calls are open"),
        ("live repair sess_4f1c", "answer open calls with an error"),
    ),
    json_shape='{"session_id", "repaired": [SEQ, …]}: the numbers of the new results.',
)
@session_argument
@click.pass_obj
def command(settings: Settings, session: str) -> None:
    with opened_session(settings, session) as (live, session_id):
        seqs = live.repair(session_id)
    if settings.as_json:
        print_json({"session_id": session_id, "repaired": seqs})
    elif not settings.quiet:
        click.echo(safe(f"{plural(len(seqs), 'call')} answered in {session_id}"))
