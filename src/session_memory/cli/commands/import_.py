"""``session-memory import``."""

from pathlib import Path

import click

from session_memory.cli.command import command as declared
from session_memory.cli.failures import PROBLEMS
from session_memory.cli.figures import plural, size
from session_memory.cli.output import print_json
from session_memory.cli.settings import Settings


@declared(
    "import",
    examples=(
        ("import laptop.smx", "take in what another machine has exported"),
        ("import laptop.smx --store team.db", "into a store of its own"),
    ),
    json_shape="the figures of sync",
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@click.pass_context
def command(ctx: click.Context, file: str) -> None:
    """Take in sessions from a portable file.

    What the store has already is not doubled; sources keep the name of the machine they come from.
    """
    import msgspec

    from session_memory.collect.portable import import_store

    settings: Settings = ctx.obj
    config = settings.configuration()
    with settings.opened(config, create=True) as store:
        report = import_store(store, Path(file).expanduser(), config)
    if settings.as_json:
        print_json(msgspec.to_builtins(report))
    elif not settings.quiet:
        click.echo(
            f"Found {plural(report.discovered, 'source')}: {report.ingested:,} taken in,"
            f" {report.unchanged:,} there already, {report.failed:,} refused."
            f" {plural(report.sessions, 'session')}, {plural(report.events, 'new event')},"
            f" {size(report.bytes)}."
        )
    if report.failed:
        ctx.exit(PROBLEMS)
