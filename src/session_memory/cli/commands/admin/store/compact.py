"""Make the store's file smaller by returning unused space.

While it runs, it needs as much free space as the store takes. It also clears the deleted data that
an earlier forget could not clear. On PostgreSQL only the owner of the tables can compact them. The
exit status is 1 if something could not be cleared.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import size


@make_command(
    examples=(
        ("store compact", "return unused space to the disk"),
        ("store compact --json", "the size before and after"),
    ),
    json_shape='{"before", "after", "unswept": [TEXT, …]}, sizes in bytes; "unswept" is what could'
    " not be cleared.",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    from session_memory.core.time import now_ms
    from session_memory.retain.forget import compact

    settings: Settings = ctx.obj
    config = settings.configuration()
    with settings.opened(config) as store:
        before, after, unswept = compact(store, config, now_ms())
    if settings.as_json:
        print_json({"before": before, "after": after, "unswept": unswept})
    elif not settings.quiet:
        click.echo(f"{size(before)} before, {size(after)} after.")
        for line in unswept:
            click.secho(safe(f"Not cleared: {line}"), fg="red")
    if unswept:
        ctx.exit(FAILED)
