"""``session-memory show``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.command import command as declared
from session_memory.cli.completion import complete_uid
from session_memory.cli.output import print_json, terminal_width
from session_memory.cli.settings import Settings

if TYPE_CHECKING:
    from session_memory.cli.transcript import Names
    from session_memory.core.schema import Session
    from session_memory.store import Store
    from session_memory.views.session import SessionView, Wanted


@declared(
    "show",
    examples=(
        ("show 5b0c6a1e", "a session, by the beginning of its id"),
        ("show 5b0c6a1e --kind user_msg --kind error", "what was asked, and what went wrong"),
        ("show 5b0c6a1e --full", "with every record as the agent wrote it"),
        ("show 5b0c6a1e --json --inherited", "for a script, copied history included"),
    ),
    json_shape='{"session": SESSION, "events": [EVENT, …], "usage": [USAGE, …], "children": [UID,'
    ' …]}; --full adds "payload" to each event, and "spilled" where the agent keeps a long output'
    ' apart; inherited events carry their owner\'s uid and seq, "inherited" and "seq_here".',
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only events of this kind.")
@click.option("--inherited", is_flag=True, help="With the events it holds of other sessions.")
@click.option("--full", is_flag=True, help="With the native record of every event.")
@click.option("--no-children", is_flag=True, help="Name subagents, and do not open them.")
@click.pass_obj
def command(
    settings: Settings,
    session: str,
    kinds: tuple[str, ...],
    inherited: bool,
    full: bool,
    no_children: bool,
) -> None:
    """Show one session: events, subagents, branches.

    UID is the session's uid or native id, or a beginning of it of four characters or more; a
    subagent's is its parent's and its own, with a colon between. Subagents are shown below the
    calls that started them. What was abandoned by a rewind stays, marked.

    Kinds: user_msg, assistant_msg, thinking, tool_call, tool_result, error, test_run, edit, retry,
    human_intervention, decision, lifecycle, completion. An event may be of several.
    """
    from session_memory.views.lookup import find_session
    from session_memory.views.session import Wanted, show_session

    wanted = Wanted(kinds=kinds, inherited=inherited, full=full)
    with settings.opened() as store:
        view = show_session(store, find_session(store, session), wanted)
        if settings.as_json:
            print_json(view.to_dict())
            return
        for line in _lines(store, view, wanted, open_children=not no_children):
            click.echo(line)


def _lines(
    store: "Store", view: "SessionView", wanted: "Wanted", *, open_children: bool
) -> Iterator[str]:
    from session_memory.cli.transcript import Transcript, header
    from session_memory.views.lookup import short_names

    short = short_names(store.sessions.uids())

    def names(uid: str) -> str:
        return short.get(uid, uid)

    yield from header(view, names)
    yield ""
    waiting = list(view.subagents)
    limit = terminal_width()
    for shown, line in Transcript(view, names, limit).lines():
        if shown is not None:
            for child in [c for c in waiting if (view.started_at_seq(c) or 1 << 62) < shown.seq]:
                waiting.remove(child)
                yield from _child(store, child, wanted, names, limit, open_children)
        yield line
    for child in waiting:
        yield from _child(store, child, wanted, names, limit, open_children)


def _child(
    store: "Store",
    child: "Session",
    wanted: "Wanted",
    names: "Names",
    limit: int | None,
    is_open: bool,
) -> Iterator[str]:
    from session_memory.cli.figures import count
    from session_memory.cli.transcript import Transcript, rule
    from session_memory.views.session import show_session

    name = names(child.session_uid)
    tokens = f"{count(child.cost.output_tokens)} tokens out"
    yield rule(f"subagent {name} {child.title or ''} ({child.model}, {tokens})", 1)
    if is_open:
        view = show_session(store, child.session_uid, wanted)
        for _, line in Transcript(view, names, limit).lines(depth=1):
            yield line
        for below in view.subagents:
            yield rule(f"subagent {names(below.session_uid)} {below.title or ''}", 2)
