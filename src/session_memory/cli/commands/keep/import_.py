"""Take in sessions from a portable file.

What the store has already is not doubled; sources keep the name of the machine they come from.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural, size


@make_command(
    resumable=True,
    examples=(
        ("import laptop.smx", "take in what another machine has exported"),
        ("import laptop.smx --store team.db", "into a store of its own"),
    ),
    json_shape='{"sources", "known", "bytes", "sessions"}: the sources in the file, how many of'
    " them were here already, the bytes taken in, and the sessions that are new.",
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@click.pass_obj
def command(settings: Settings, file: str) -> None:
    import msgspec

    from session_memory.retain.portable_file import import_store

    config = settings.configuration()
    with settings.opened(config, create=True) as store:
        done = import_store(store, Path(file).expanduser(), config)
    if settings.as_json:
        print_json(msgspec.to_builtins(done))
    elif not settings.quiet:
        new = f"{done.sources - done.known:,} taken in ({size(done.bytes)})"
        click.echo(
            f"Found {plural(done.sources, 'source')}: {new}, {done.known:,} here already."
            f" {plural(done.sessions, 'new session')}."
        )
