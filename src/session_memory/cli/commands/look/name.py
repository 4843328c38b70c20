"""Give a session a name of your own.

Every command and the web page show the name in place of the title, and the search finds it. The log
of the agent does not change. Names survive syncs and rebuilds and are part of exports. Without UID,
lists the sessions with names.
"""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_page
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.memory import Memory


@make_command(
    examples=(
        ("name 5b0c6a1e 'Webhook retries, second try'", "give the session this name"),
        ("name 5b0c6a1e", "show the name of the session"),
        ("name 5b0c6a1e --reset", "go back to the title of its log"),
        ("name", "the sessions with names"),
    ),
    json_shape='{"session_uid", "name": TEXT or null, "title"}; without UID {"named":'
    ' [{"session_uid", "name"}, …], "total"}.',
)
@click.argument("session", required=False, metavar="[UID]", shell_complete=complete_uid)
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--reset", is_flag=True, help="Remove the name.")
@click.pass_obj
def command(settings: Settings, session: str | None, name: str | None, reset: bool) -> None:
    if name is not None and reset:
        raise click.UsageError("give one of NAME and --reset")
    if session is None and reset:
        raise click.UsageError("name a session")
    with settings.memory() as memory:
        if session is None:
            _list(settings, memory)
            return
        found = memory.session(session)
        if name is not None or reset:
            found.set_name(None if reset else name)
        uid, given, title, store = found.uid, found.name, found.title, memory.store
    if settings.as_json:
        print_json({"session_uid": uid, "name": given, "title": title})
    elif not settings.quiet:
        by = "" if given else "; you gave it no name"
        click.echo(safe(f"{uid} is called: {title}{by}"))
    remark_page(settings, store, uid)


def _list(settings: Settings, memory: "Memory") -> None:
    from session_memory.views.given_names import named_sessions

    found = named_sessions(memory.store)
    if settings.as_json:
        print_json(found.to_dict())
        return
    if not found.names:
        remark(settings, "No session has a name. Give one: session-memory name UID NAME")
    for uid, name in found.names.items():
        click.echo(safe(f"{uid}  {name}"))
