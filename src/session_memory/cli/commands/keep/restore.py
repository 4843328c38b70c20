"""Bring evicted sessions back from the archive.

Their logs come back byte for byte, and their events are derived from them again. Sessions that were
evicted together come back together. They stay as long as new sessions do; pin keeps them longer.
To write back the agent's own log, use restore-native.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural, size


@make_command(
    examples=(
        ("restore 5b0c6a1e", "one session"),
        ("restore --all", "all evicted sessions"),
    ),
    json_shape='{"restored": [{"sessions": [UID, …], "bytes"}, …]}',
)
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@click.option("--all", "everything", is_flag=True, help="All evicted sessions.")
@click.pass_obj
def command(settings: Settings, sessions: tuple[str, ...], everything: bool) -> None:
    from session_memory.core.time import now_ms
    from session_memory.retain.restore import restore
    from session_memory.views.lookup import find_session

    if everything == bool(sessions):
        raise click.UsageError("give the sessions to restore, or --all")
    config = settings.configuration()
    with settings.opened(config) as store:
        uids = None if everything else [find_session(store, one) for one in sessions]
        restored = restore(store, config, uids, now_ms())
    if settings.as_json:
        import msgspec

        print_json({"restored": msgspec.to_builtins(restored)})
        return
    for uid in (uid for one in restored for uid in one.sessions) if not settings.quiet else ():
        click.echo(safe(f"{uid} is back"))
    total = size(sum(one.bytes for one in restored))
    count = sum(len(one.sessions) for one in restored)
    remark(
        settings, f"{plural(count, 'session')}, {total}." if restored else "No session is evicted."
    )
