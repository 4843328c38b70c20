"""Print one hash of everything that was collected.

Two stores with the same fingerprint have the same logs, events, usage, problems and live sessions.
The fingerprint does not depend on when and how they were collected, or on how they are compressed.
Results of analyses, and the events of evicted sessions (their logs are in the archive), are not
part of it.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("store fingerprint", "the fingerprint of your store"),
        ("store fingerprint --store copy.db", "the same hash means the same contents"),
    ),
    json_shape='{"fingerprint": TEXT}',
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.cli.lines.retention import remark_evicted

    with settings.opened() as store:
        fingerprint = store.fingerprint()
        remark_evicted(settings, store)
    if settings.as_json:
        print_json({"fingerprint": fingerprint})
    else:
        click.echo(fingerprint)
