"""Print one line with costs for an agent's status bar.

Reads the JSON that the agent passes on standard input. The line shows the cost of the session with
its subagents, of today and of the current five-hour block. If you set limits with session-memory
budget, it also shows how much of each is spent. For a session that is not collected yet, the line
shows the cost that the agent reports, with a ~ in front. After an error, the line shows the error,
and the exit status is still 0. docs/cost.md shows how to set it up.
"""

import os
from datetime import tzinfo

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import Zone
from session_memory.hooks.status_bar import brief, read_status
from session_memory.render.text import safe


@make_command(
    examples=(
        ("statusline < status.json", "with the JSON of an agent"),
        ("statusline --tz UTC < /dev/null", "without a session"),
    ),
    json_shape='{"model", "session", "agent_microdollars", "today", "block", "block_left_ms",'
    ' "budget"}; amounts are {"microdollars", "unpriced_tokens"}; "session" is null if it is not'
    ' collected yet, "block" if no block is active; "agent_microdollars" is what the agent itself'
    ' says; "budget" is as in the command budget, but with empty "prices".',
)
@click.option(
    "--flavor",
    metavar="NAME",
    help="The agent whose status bar shows the line.  [default: the one whose status bar can run a"
    " program]",
)
@click.option(
    "--tz", type=Zone(), metavar="ZONE", help="Time zone for days.  [default: this machine's]"
)
@click.pass_obj
def command(settings: Settings, flavor: str | None, tz: tzinfo | None) -> None:
    try:
        _print(settings, flavor, tz)
    # A status bar shows what is printed and drops the line of a program that fails, so the error
    # goes into the line. With SESSION_MEMORY_DEBUG there is a traceback.
    except Exception as error:
        if os.environ.get("SESSION_MEMORY_DEBUG"):
            raise
        click.echo(f"session-memory: {safe(brief(error))}")


def _print(settings: Settings, flavor: str | None, tz: tzinfo | None) -> None:
    from session_memory.views.statusline import parse_status, statusline

    status = parse_status(read_status())
    config = settings.configuration()
    with settings.opened(config) as store:
        found = statusline(store, status, config.budget, flavor=flavor, tz=tz)
    print_json(found.to_dict()) if settings.as_json else click.echo(safe(found.text))
