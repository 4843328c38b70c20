"""Answer a hook of a coding agent.

Agents start this command themselves, with their JSON on standard input. EVENT says what happened to
the agent, and decides the answer:

failure: a command failed. The answer is what resolved the same error before in this repository, or
in another one if the fix does not depend on the repository.

end: the session or a turn ended. The session is collected and analyzed in the background.

prompt: a prompt was sent. The answer is what an earlier session did, if it fits the prompt very
well.

start: a session started. The answer is a line about the tools of the memory. After a compaction, it
is what the compaction may have removed from the context.

The answer has the form that AGENT accepts. If there is nothing to say, nothing is printed.
The exit status is always 0; session-memory doctor tells why a hook failed. docs/hooks.md has the
details.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("hook claude failure < payload.json", "what Claude Code starts after a failed command"),
        ("hook codex end < payload.json", "collect and analyze the session that ended"),
    ),
    json_shape="The option changes nothing: the output has the form that the agent reads.",
)
@click.argument("agent")
@click.argument("event")
@click.pass_obj
def command(settings: Settings, agent: str, event: str) -> None:
    from session_memory.hooks.running import run

    place = [] if settings.store is None else ["--store", settings.store]
    own = [] if settings.config is None else ["--config", str(settings.config)]
    click.get_current_context().exit(run([agent, event, *place, *own]))
