"""Give unused space back to the disk.

Nothing is removed. It needs about as much free space as the store takes while it runs.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import size


@make_command(
    examples=(
        ("store compact", "make the file as small as it can be"),
        ("store compact --json", "its size before and after"),
    ),
    json_shape='{"before", "after"}, in bytes',
)
@click.pass_obj
def command(settings: Settings) -> None:
    with settings.opened() as store:
        before, after = store.compact()
    if settings.as_json:
        print_json({"before": before, "after": after})
    elif not settings.quiet:
        click.echo(f"{size(before)} before, {size(after)} after.")
