"""Go on with a session in its own agent.

Prints the command, or runs it with --run: Claude Code, Codex and Grok are known. An agent
needs its own log to go on; where that was deleted, restore-native puts it back.
"""

import subprocess
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.views.resuming import Resume


@make_command(
    examples=(
        ("open 5b0c6a1e", "the command that goes on with a session"),
        ("open 5b0c6a1e --run", "go on with it, here and now"),
    ),
    json_shape='{"session_uid", "argv": [WORD, …], "cwd", "is_gone", "is_cwd_gone", "host",'
    ' "line"}; "is_gone": its log is not where the agent looks; "host" is the machine it was on,'
    " when that is another.",
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option("--run", is_flag=True, help="Start the agent, instead of printing how.")
@click.pass_obj
def command(settings: Settings, session: str, run: bool) -> None:
    from session_memory.config import this_host
    from session_memory.core.errors import UnknownSession
    from session_memory.views.lookup import find_session
    from session_memory.views.resuming import resume

    with settings.opened() as store:
        uid = find_session(store, session)
        found = store.sessions.get(uid)
        if found is None:
            raise UnknownSession(uid)
        way = resume(store, found, this_host(settings.configuration()))
    if run:
        _run(way)
    if settings.as_json:
        print_json(way.to_dict())
        return
    click.echo(safe(way.line))
    if way.host:
        remark(settings, f"It was on {way.host}: run it there.")
    if way.is_gone:
        back = f"session-memory restore-native {uid} puts it there"
        remark(settings, f"Its log is not where the agent looks for it: {back}")
    if way.is_cwd_gone:
        remark(settings, f"The directory it worked in is not here: {way.cwd}")


def _run(way: "Resume") -> None:
    """Hand over to the agent and end as it ends."""
    from session_memory.core.errors import CannotResume

    argv, cwd = way.argv, way.cwd
    if way.is_gone:
        hint = f"Bring it back with: session-memory restore-native {way.session_uid}"
        raise CannotResume("the log of this session is not where its agent looks for it", hint)
    if way.is_cwd_gone:
        hint = f"Make it, or check out there what the session worked on: {cwd}"
        raise CannotResume(f"the directory {cwd} is gone", hint)
    try:
        done = subprocess.run(argv, cwd=cwd, check=False)
    except FileNotFoundError:
        hint = f"Install it, or see that it is on the PATH: {argv[0]}"
        raise CannotResume(f"{argv[0]} is not installed here", hint) from None
    raise click.exceptions.Exit(done.returncode if done.returncode >= 0 else 1)
