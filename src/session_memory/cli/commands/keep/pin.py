"""Keep sessions in the store, even if they are old or large.

Retention, which moves old sessions to the archive, leaves pinned sessions in the store, together
with their subagents and with sessions from the same logs. Without UID, lists the pinned sessions. A
session that session-memory restore brought back is pinned for the number of days in
raw_max_age_days; its line in the list says until when.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import local


@make_command(
    examples=(
        ("pin 5b0c6a1e", "never evict this session"),
        ("pin", "list pinned sessions"),
    ),
    json_shape='{"pinned": [UID, …]}: all pinned sessions, and those restored lately.',
)
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@click.pass_obj
def command(settings: Settings, sessions: tuple[str, ...]) -> None:
    from session_memory.core.time import now_ms
    from session_memory.views.lookup import find_session

    now = now_ms()
    with settings.opened() as store:
        uids = [find_session(store, one) for one in sessions]
        with store.transaction():
            for uid in uids:
                store.retention.pin(uid, now)
        pins = store.retention.pins(now)
        pinned = sorted(pins)
        rows = [(uid, store.sessions.row(uid)) for uid in uids or pinned]
    if settings.as_json:
        print_json({"pinned": pinned})
        return
    if not rows:
        remark(settings, "No session is pinned.")
    # The list is the answer, so it is printed with --quiet, too.
    for uid, row in rows if not (uids and settings.quiet) else ():
        title = f": {row.title}" if row is not None and row.title else ""
        click.echo(safe(f"{uid} is pinned{_until(pins[uid])}{title}"))


def _until(end: int | None) -> str:
    from session_memory.core.time import format_time

    return "" if end is None else f" until {local(format_time(end), '%Y-%m-%d')}"
