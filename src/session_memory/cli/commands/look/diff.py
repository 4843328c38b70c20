"""Show what a session changed, file by file.

The diff is made from the edits in the log. Failed edits are left out. Edits of subagents are
included, and edits on branches of the conversation that were abandoned. If the log has the whole
file, the diff is exact and can be applied. Otherwise a note says why not: the log has only
excerpts, the log does not have the old content, or a command made the change. Other notes say that
something else changed the file between the edits, or that an edit is on an abandoned branch.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
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
from session_memory.cli.kit.web_page import remark_page

if TYPE_CHECKING:
    from session_memory.views.diff import FileDiff, SessionDiff


@make_command(
    examples=(
        ("diff 7ac31f58", "what a session changed, file by file"),
        ("diff 7ac31f58 --stat", "only the files and the number of lines"),
        ("diff 7ac31f58 --file dates", "only files with this in their path"),
    ),
    json_shape='{"session": UID, "files": [{"path", "action", "edits", "added", "removed",'
    ' "is_whole", "notes": [TEXT, …], "moved_to", "diff"}, …], "totals": {"files", "edits",'
    ' "added", "removed"}}; "is_whole": the diff is exact.',
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option("--stat", is_flag=True, help="Only list files with counts of lines.")
@click.option("--file", "text", metavar="TEXT", help="Only files whose path contains this.")
@click.option("--no-children", is_flag=True, help="Leave out what subagents changed.")
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@click.pass_obj
def command(
    settings: Settings,
    session: str,
    stat: bool,
    text: str | None,
    no_children: bool,
    no_pager: bool,
) -> None:
    from session_memory.cli.kit.pager import print_paged

    with settings.memory() as memory:
        asked, store = memory.session(session), memory.store
        answer = asked.diff(file=text, children=not no_children)
    if settings.as_json:
        print_json(answer.to_dict())
        return
    if stat:
        print_lines(_stat(answer))
    else:
        print_paged(settings, _lines(answer), paged=not no_pager)
    remark_page(settings, store, asked.uid, "changes")
    if not answer.files:
        which = "" if text is None else f" with {text!r} in its path"
        remark(settings, f"No file{which} was changed, according to the log.")


def _lines(answer: "SessionDiff") -> Iterator[str]:
    from session_memory.cli.lines.diff import diff_lines
    from session_memory.render.text import safe

    for place, file in enumerate(answer.files):
        if place:
            yield ""
        for line in file.headers:
            yield click.style(safe(line), bold=True)
        for note in file.notes:
            # patch and git apply skip lines that are not part of a diff.
            yield click.style(f"# {note}", fg="yellow")
        yield from diff_lines(file.lines, shorten=False)


def _stat(answer: "SessionDiff") -> Iterator[str]:
    columns = (
        Column("file", flexible=True, middle=True, least=50),
        Column("what"),
        Column("edits", right=True),
        Column("+", right=True),
        Column("-", right=True),
        Column("note", flexible=True, spare=1, least=20),
    )
    rows = [_row(file) for file in answer.files]
    if rows:
        yield from table(columns, rows, terminal_width())


def _row(file: "FileDiff") -> list[str | Cell]:
    return [
        file.path,
        file.action,
        str(file.edits),
        Cell(f"{file.added:,}", {"fg": "green"} if file.added else {"dim": True}),
        Cell(f"{file.removed:,}", {"fg": "red"} if file.removed else {"dim": True}),
        Cell("; ".join(file.notes), {"dim": True}),
    ]
