"""Let retention move pinned sessions to the archive again.

This also ends the pin of a session that session-memory restore brought back.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe


@make_command(
    examples=(
        ("unpin 5b0c6a1e", "retention may archive this session again"),
        ("unpin 5b0c6a1e 7ac31f58 --json", "two sessions"),
    ),
    json_shape='{"pinned": [UID, …]}: all sessions that are still pinned.',
)
@click.argument("sessions", nargs=-1, required=True, metavar="UID...", shell_complete=complete_uid)
@click.pass_obj
def command(settings: Settings, sessions: tuple[str, ...]) -> None:
    from session_memory.core.time import now_ms
    from session_memory.views.lookup import find_session

    with settings.opened() as store:
        uids = [find_session(store, one) for one in sessions]
        before = store.retention.pins(now_ms())
        with store.transaction():
            for uid in uids:
                store.retention.unpin(uid)
        pinned = sorted(store.retention.pins(now_ms()))
    if settings.as_json:
        print_json({"pinned": pinned})
        return
    for uid in uids if not settings.quiet else ():
        click.echo(safe(f"{uid} {'is no longer' if uid in before else 'was not'} pinned"))
