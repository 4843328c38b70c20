"""Print the version."""

import platform

import click

from session_memory import __version__
from session_memory.cli.kit.command import PROGRAM, make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("version", "what is installed"),
        ("version --json", "for a script"),
    ),
    json_shape='{"version", "schema_version", "store_schema", "python"}; "schema_version" is the'
    ' version of sessions and events in JSON, "store_schema" that of the tables in the database.',
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.core.schema import SCHEMA_VERSION
    from session_memory.store.migrations import NEWEST

    python = platform.python_version()
    if settings.as_json:
        versions = {"version": __version__, "schema_version": SCHEMA_VERSION}
        print_json({**versions, "store_schema": NEWEST, "python": python})
    else:
        store = f"schema {SCHEMA_VERSION}, store {NEWEST}, Python {python}"
        click.echo(f"{PROGRAM} {__version__} ({store})")
