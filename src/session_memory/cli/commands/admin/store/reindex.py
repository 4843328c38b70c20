"""Build the index of words anew.

A new index is built from the raw beside the old one and takes its place when it is whole; until
then searches ask the old one. Collecting goes on meanwhile.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("store reindex", "when a search says that the index is not whole"),
        ("store reindex --json", "how much there was to do"),
    ),
    json_shape='{"sessions"}',
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.cli.lines.indexing import build_index

    with settings.opened() as store:
        done = build_index(settings, store)
    if settings.as_json:
        print_json({"sessions": done})
    else:
        click.echo(f"Indexed {plural(done, 'session')}.")
