"""Import sessions from a portable file.

Sessions that the store already has are not added twice. Each source keeps the name of the machine
it came from.
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
        ("import laptop.smx", "sessions that another machine exported"),
        ("import laptop.smx --store team.db", "into another store"),
    ),
    json_shape='{"sources", "known", "bytes", "sessions"}: the sources in the file, how many of'
    " them the store already had, the bytes imported, and the number of new sessions.",
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
        new = f"{done.sources - done.known:,} imported ({size(done.bytes)})"
        click.echo(
            f"Found {plural(done.sources, 'source')}: {new}, {done.known:,} already in the store."
            f" {plural(done.sessions, 'new session')}."
        )
