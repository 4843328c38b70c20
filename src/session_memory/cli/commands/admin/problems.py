"""List log lines that could not be read, with file and byte.

The store keeps the bytes of these lines, so that a later release may be able to read them. Also
listed are files that could not be opened, token counts that cannot be true, and records or
responses that have the id of another, different one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.adapter_remarks import remark_adapters
from session_memory.cli.kit.command import limit_option, make_command
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
from session_memory.render.paths import short_path
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.store.problems import Problem


@make_command(
    examples=(
        ("problems", "all problems"),
        ("problems --reason 'malformed line'", "only this reason"),
        ("problems --json", "with hosts and times, for a script"),
    ),
    json_shape='{"problems": [{"host", "path", "offset", "length", "reason", "detail",'
    ' "noticed_at"}, …], "total", "reasons": {REASON: COUNT}}; "length" is 0 for a whole file and'
    ' for a line that was read all the same. "adapters": {NAME: REASON} is there if adapters are'
    " broken.",
)
@click.option("--reason", metavar="TEXT", help="Only problems with this reason.")
@click.option("--path", metavar="TEXT", help="Only files whose path contains this.")
@limit_option(100)
@click.pass_obj
def command(settings: Settings, reason: str | None, path: str | None, limit: int) -> None:
    with settings.memory() as memory:
        listing = memory.problems(reason=reason, path=path, limit=limit)
    if settings.as_json:
        print_json(listing.to_dict())
        return
    print_lines(_lines(listing.problems))
    remark_adapters(settings, listing.adapters)
    if not listing.total:
        remark(settings, "No problems.")
        return
    sums = ", ".join(f"{number:,} × {reason}" for reason, number in listing.reasons.items())
    more = " --limit 0 lists all." if listing.total > len(listing.problems) else ""
    remark(settings, f"{plural(listing.total, 'problem')}: {sums}.{more}")


def _lines(problems: "list[Problem]") -> Iterator[str]:
    from session_memory.store.problems import UNREADABLE

    columns = (
        Column("reason"),
        Column("byte", right=True),
        Column("length", right=True, spare=1),
        Column("file", flexible=True, middle=True, least=42),
        Column("detail", flexible=True),
    )
    rows = (
        (
            Cell(problem.reason, {"fg": "yellow"}),
            "-" if problem.reason == UNREADABLE else str(problem.place),
            str(problem.length) if problem.length else "-",
            short_path(problem.path),
            problem.detail,
        )
        for problem in problems
    )
    return table(columns, rows, terminal_width()) if problems else iter(())
