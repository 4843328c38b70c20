"""Print one line for an agent's status bar.

What the session, today and the block of five hours cost, and what is left of the budget.
Reads what the agent passes on stdin. Never fails its bar: when something is wrong, it says so
in a few words and leaves with 0. docs/cost.md shows how to set it up.
"""

import os
import sys
from datetime import tzinfo

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import Zone
from session_memory.render.text import safe

MOST_BYTES = 1 << 20


@make_command(
    examples=(
        ("statusline < status.json", "with what an agent passes to its status bar"),
        ("statusline --tz UTC < /dev/null", "without a session: today, block and budget"),
    ),
    json_shape='{"model", "session", "agent_microdollars", "today", "block", "block_left_ms",'
    ' "budget"}; amounts are {"microdollars", "unpriced_tokens"}.',
)
@click.option("--flavor", metavar="NAME", help="Which agent; by default the one that has a bar.")
@click.option("--tz", type=Zone(), metavar="ZONE", help="Days of this time zone.")
@click.pass_obj
def command(settings: Settings, flavor: str | None, tz: tzinfo | None) -> None:
    try:
        _print(settings, flavor, tz)
    # A status bar shows whatever is printed and drops the line on a failure, so a failure is
    # said in the line; with SESSION_MEMORY_DEBUG the rest is told, too.
    except Exception as error:
        if os.environ.get("SESSION_MEMORY_DEBUG"):
            raise
        click.echo(f"session-memory: {safe(_brief(error))}")


def _print(settings: Settings, flavor: str | None, tz: tzinfo | None) -> None:
    from session_memory.views.statusline import statusline, told_by

    told = told_by(b"" if sys.stdin.isatty() else sys.stdin.buffer.read(MOST_BYTES))
    config = settings.configuration()
    with settings.opened(config) as store:
        found = statusline(store, told, config.budget, flavor=flavor, tz=tz)
    print_json(found.to_dict()) if settings.as_json else click.echo(safe(found.text))


def _brief(error: Exception) -> str:
    from session_memory.core.errors import SessionMemoryError, StoreNotFound

    if isinstance(error, StoreNotFound):
        return "nothing collected yet"
    text = str(error) if isinstance(error, SessionMemoryError) else type(error).__name__
    return text.splitlines()[0][:80] if text else type(error).__name__
