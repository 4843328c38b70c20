"""Print the command that continues a session in its own agent.

With --run the agent is started in this terminal. The agent needs its own log of the session. If the
log was deleted, session-memory restore-native writes it back. Subagents, and sessions of agents
without such a command, cannot be continued.
"""

import subprocess
import webbrowser
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import running_server
from session_memory.core.errors import CannotResume
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.store import Store
    from session_memory.views.resuming import Resume


@make_command(
    examples=(
        ("open 5b0c6a1e", "how to continue it"),
        ("open 5b0c6a1e --run", "start the agent and continue it now"),
        ("open 5b0c6a1e --web", "open its page in the browser"),
    ),
    json_shape='{"session_uid", "argv": [WORD, …], "cwd", "is_gone", "is_cwd_gone", "host",'
    ' "line"}; "is_gone": the agent\'s log is missing; "host": the session ran on that other'
    ' machine. With --web: {"session_uid", "address"}, and the browser is not opened. With --run'
    " nothing is printed.",
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option("--run", is_flag=True, help="Start the agent instead of printing the command.")
@click.option(
    "--web",
    "on_web",
    is_flag=True,
    help="Open the session's page in the browser; session-memory web must run.",
)
@click.pass_obj
def command(settings: Settings, session: str, run: bool, on_web: bool) -> None:
    from session_memory.config import this_host
    from session_memory.core.errors import UnknownSession
    from session_memory.views.lookup import find_session
    from session_memory.views.resuming import resume

    if run and on_web:
        raise click.UsageError("give one of --run and --web")
    with settings.opened() as store:
        uid = find_session(store, session)
        found = store.sessions.get(uid)
        if found is None:
            raise UnknownSession(uid)
        if on_web:
            _open_page(settings, store, uid)
            return
        way = resume(store, found, this_host(settings.configuration()))
    if run:
        _run(way)
    if settings.as_json:
        print_json(way.to_dict())
        return
    click.echo(safe(way.line))
    if way.host:
        remark(settings, f"The session ran on {way.host}: run the command there.")
    if way.is_gone:
        back = f"session-memory restore-native {uid}"
        remark(settings, f"The agent no longer has this log. Write it back: {back}")
    if way.is_cwd_gone:
        remark(settings, f"The directory of the session does not exist: {way.cwd}")


def _open_page(settings: Settings, store: "Store", uid: str) -> None:
    server = running_server(store)
    if server is None:
        raise CannotResume("no web server runs for this store", "Start it: session-memory web")
    address = server.page_of(uid)
    if settings.as_json:
        print_json({"session_uid": uid, "address": address})
    else:
        click.echo(address)
        webbrowser.open(server.page_of(uid, with_token=True))


def _run(way: "Resume") -> None:
    """Start the agent, and exit with its exit status."""
    argv, cwd = way.argv, way.cwd
    if way.is_gone:
        hint = f"Write it back with: session-memory restore-native {way.session_uid}"
        raise CannotResume("the agent no longer has the log of this session", hint)
    if way.is_cwd_gone:
        hint = f"Create it, or check the repository out there: {cwd}"
        raise CannotResume(f"the directory {cwd} does not exist", hint)
    try:
        done = subprocess.run(argv, cwd=cwd, check=False)
    except FileNotFoundError:
        hint = f"Install it, or add it to the PATH: {argv[0]}"
        raise CannotResume(f"{argv[0]} is not installed here", hint) from None
    raise click.exceptions.Exit(done.returncode if done.returncode >= 0 else 1)
