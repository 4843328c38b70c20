"""Find sessions like this one, or like a text.

By the words that tell a session from the others, and the files it was about. The session's own
subagents and forks are left out. Nothing is sent anywhere.
"""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_json,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session_memory.views.similar import Similar


@make_command(
    examples=(
        ("similar 5b0c6a1e", "what was this before?"),
        ("similar --text 'flaky login test times out'", "sessions about such a thing"),
        ("similar 5b0c6a1e --json", "with the words and files in common"),
    ),
    json_shape='{"words": [WORD, …], "sessions": [{"session_uid", "title", "likeness", "words",'
    ' "files"}, …]}',
)
@click.argument("session", metavar="[UID]", required=False, shell_complete=complete_uid)
@click.option("--text", metavar="TEXT", help="Like this text instead of a session.")
@limit_option(10)
@click.pass_obj
def command(settings: Settings, session: str | None, text: str | None, limit: int) -> None:
    from session_memory.cli.lines.indexing import make_index_whole

    if (session is None) == (text is None):
        raise click.UsageError("Give a session, or a text with --text.")
    with settings.memory() as memory:
        make_index_whole(settings, memory.store)
        similar = memory.similar(session, text=text, limit=limit)
    if settings.as_json:
        print_json(similar.to_dict())
        return
    print_lines(_lines(similar))
    if not similar.found:
        remark(settings, "No session is like it.")


def _lines(similar: "Similar") -> "Iterator[str]":
    from session_memory.core.time import now_ms
    from session_memory.views.figures import age

    columns = [
        Column("like", right=True),
        Column("session"),
        Column("agent"),
        Column("when"),
        Column("title", flexible=True),
        Column("in common", flexible=True),
    ]
    rows = [
        (
            f"{one.likeness:.0%}",
            Cell(similar.names.get(one.session.uid, one.session.uid), {"fg": "cyan"}),
            one.session.flavor,
            age(one.session.ended_at, now_ms()),
            similar.titles.get(one.session.id, ""),
            ", ".join((*one.words, *one.files)),
        )
        for one in similar.found
    ]
    if rows:
        yield from table(columns, rows, terminal_width())
