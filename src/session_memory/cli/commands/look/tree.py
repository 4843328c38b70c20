"""Show how sessions belong together, with the cost of each.

Forks, resumed sessions, handoffs and subagents are below the session they came from. Branches that
a rewind abandoned are listed. Events that a fork copied from its parent count only for the parent,
so that the total is right.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, print_lines, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_page


@make_command(
    examples=(
        ("tree 91d4f0a7", "where a session came from, and its forks and subagents"),
        ("tree 91d4f0a7 --json", "the same for a script"),
    ),
    json_shape='{"asked": UID, "root": NODE, "sessions", "amount": {"microdollars",'
    ' "unpriced_tokens"}}, and "left_out", the number of sessions below level 100, if any;'
    ' a NODE is {"session_uid", "relation", "title", "model", "started_at",'
    ' "ended_at", "turns", "tokens", "total_tokens", "own", "total", "branches": [{"branch",'
    ' "events", "first_seq", "output_tokens"}, …], "children": [NODE, …]}; "own" is the session\'s'
    ' amount, "total" with its subagents; "total_tokens" are also with its subagents; "amount" is'
    " that of all sessions in the tree.",
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.pass_obj
def command(settings: Settings, session: str) -> None:
    from session_memory.cli.lines.tree import family_lines
    from session_memory.views.short_names import short_names

    with settings.memory() as memory:
        asked = memory.session(session)
        found = asked.family()
        store = memory.store
        names = short_names(memory.store, [node.session.session_uid for node in found.root.every()])
    if settings.as_json:
        print_json(found.to_dict())
        return
    print_lines(family_lines(found, lambda uid: names.get(uid, uid), terminal_width()))
    remark_page(settings, store, asked.uid, "family")
