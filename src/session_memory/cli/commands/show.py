"""``session-memory show``."""

import click

from session_memory.cli.command import command as declared
from session_memory.cli.completion import complete_uid
from session_memory.cli.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.settings import Settings


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
    from session_memory.cli.tree import Tree
    from session_memory.views.lookup import find_session
    from session_memory.views.session import Wanted, show_session

    wanted = Wanted(kinds=kinds, inherited=inherited, full=full)
    with settings.opened() as store:
        view = show_session(store, find_session(store, session), wanted)
        if settings.as_json:
            print_json(view.to_dict())
            return
        tree = Tree(store, wanted, terminal_width(), open_children=not no_children)
        print_lines(tree.lines(view))
    if kinds and not view.events:
        remark(settings, _nothing_of(kinds))


def _nothing_of(kinds: tuple[str, ...]) -> str:
    """An unknown kind may be a newer adapter's, so it is no error; it may also be a slip."""
    from difflib import get_close_matches

    from session_memory.core.schema import KINDS

    slips = [get_close_matches(kind, KINDS, n=1) for kind in kinds if kind not in KINDS]
    meant = [near for found in slips for near in found]
    hint = f" Did you mean {', '.join(meant)}?" if meant else ""
    return f"No event is of kind {', '.join(kinds)}.{hint}"
