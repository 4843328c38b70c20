"""Build the search index again.

The new index is built beside the old one and replaces it when it is complete; until then searches
use the old one. Collecting continues meanwhile.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("store reindex", "when search says that sessions are missing"),
        ("store reindex --json", "the count, for a script"),
    ),
    json_shape='{"sessions"}',
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.cli.kit.indexing import build_index

    with settings.opened() as store:
        done = build_index(settings, store)
    if settings.as_json:
        print_json({"sessions": done})
    else:
        click.echo(f"Indexed {plural(done, 'session')}.")
