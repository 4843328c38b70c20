"""Copy the store to a new file while it is in use.

The copy is a store itself, in the state of one moment. A file that exists is not overwritten. The
archive of evicted sessions, the lake, the folder of lessons and the record of what lessons wrote to
files are not part of it.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import size


@make_command(
    examples=(
        ("store backup /backup/memory-2026-07-01.db", "copy the store"),
        ("store verify --store /backup/memory-2026-07-01.db", "check the copy"),
    ),
    json_shape='{"path", "bytes"}',
)
@click.argument("file", metavar="FILE")
@click.pass_obj
def command(settings: Settings, file: str) -> None:
    with settings.memory() as memory:
        copy = memory.backup(file)
    if settings.as_json:
        print_json(copy.to_dict())
    elif not settings.quiet:
        click.echo(f"Copied {size(copy.bytes)} to {safe(short_path(copy.path))}.")
