"""Serve the memory to coding agents over MCP.

Agents start this command themselves and talk to it over standard input and output. It has seven
tools: recall, fix, show, sessions, why, handoff and cost. Answers are short texts about the
repository of the working directory. The server only reads the store, and ends with the agent that
started it.

docs/mcp.md shows how to add it to each agent.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("mcp", "as an agent starts it"),
        ("mcp --store postgresql://db/memory", "a team's store"),
    ),
    json_shape="The option changes nothing: the server always speaks JSON-RPC.",
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.mcp.serving import serve

    click.get_current_context().exit(serve(settings.store, settings.config))
