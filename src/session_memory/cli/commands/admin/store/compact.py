"""Make the store's file smaller by returning unused space.

Nothing is deleted. While it runs, it needs as much free space as the store takes.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import size


@make_command(
    examples=(
        ("store compact", "return unused space to the disk"),
        ("store compact --json", "the size before and after"),
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
