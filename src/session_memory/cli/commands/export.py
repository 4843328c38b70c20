"""``session-memory export``."""

from pathlib import Path

import click

from session_memory.cli.command import command as declared
from session_memory.cli.completion import complete_uid
from session_memory.cli.output import print_json, short_path
from session_memory.cli.settings import Settings
from session_memory.cli.text import safe
from session_memory.views.figures import plural, size


@declared(
    "export",
    examples=(
        ("export everything.smx", "everything, to take to another machine"),
        ("export two.smx 5b0c6a1e 91d4f0a7", "two sessions"),
        ("import everything.smx", "and there, take it in"),
    ),
    json_shape='{"path", "sources", "bytes"}',
)
@click.argument("file", metavar="FILE")
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@click.pass_obj
def command(settings: Settings, file: str, sessions: tuple[str, ...]) -> None:
    """Write sessions to one portable file.

    Without UID all of them. The file holds the raw, from which everything else follows, and does
    not depend on the version of the store. A file that exists is not overwritten.
    """
    from session_memory.collect.portable import export_store
    from session_memory.views.lookup import find_session

    target = Path(file).expanduser()
    with settings.opened() as store:
        uids = [find_session(store, one) for one in sessions] or None
        done = export_store(store, target, uids)
    if settings.as_json:
        print_json({"path": str(target), "sources": done.sources, "bytes": done.bytes})
    elif not settings.quiet:
        what = f"{plural(done.sources, 'source')} ({size(done.bytes)})"
        click.echo(f"Exported {what} to {safe(short_path(target))}.")
