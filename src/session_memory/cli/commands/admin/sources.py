"""List collected logs with their state and size.

States: read (the store has all of it), behind (it has changed since, or could not be read), gone
(the file was deleted; the store keeps what it collected), old (an earlier version of a file that
was rewritten), evicted (its content was moved from the store to the archive).

Roles: log (read line by line), timeline (a second log of the same session), document (a file that
the agent rewrites as a whole), rewritten (such a file, of which the store keeps what each version
adds), spill (a long output in a file of its own; it is kept and gives no events), table (the rows
of a live session). "masked" means that secrets were masked when the log was collected.

With --accounting, the exit status is 3 if lines are unaccounted for.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.failures import PROBLEMS
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
from session_memory.core.roles import ALL_ROLES
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import local, plural, size

if TYPE_CHECKING:
    from session_memory.views.sources import Accounting, Source

STATES = ("read", "behind", "gone", "old", "evicted")
_STYLES: dict[str, dict[str, Any]] = {
    "behind": {"fg": "yellow"},
    "gone": {"fg": "magenta"},
    "old": {"dim": True},
}


@make_command(
    examples=(
        ("sources", "all collected logs"),
        ("sources --state gone", "logs that the agent deleted; the store has them"),
        ("sources --accounting", "how many lines gave events, and what the others are"),
    ),
    json_shape='{"sources": [{"uid", "host", "flavor", "role", "path", "session", "generation",'
    ' "state", "size", "kept", "read_to", "lines", "adapter_version", "discovered_at",'
    ' "ingested_at", "redacted_from"}, …], "total"}; with --accounting {"lines", "events",'
    ' "bookkeeping", "copies", "problems", "unaccounted", "unfinished",'
    ' "bookkeeping_kinds": {KIND: LINES}, "sources", "unaccounted_in": {PATH: LINES}}. "size" is'
    ' that of the file when it was last read, "kept" how many of its bytes the store has, "read_to"'
    ' up to which byte events were made of it, "generation" how often the file was rewritten;'
    ' secrets are masked from byte "redacted_from" on.',
)
@click.option(
    "--accounting",
    is_flag=True,
    help="Count the lines of all logs by what they gave, such as events; filters do not apply.",
)
@click.option(
    "--flavor",
    shell_complete=complete_facet("flavor"),
    metavar="NAME",
    help="Only sources of this agent; wildcards: * and ?.",
)
@click.option(
    "--host", metavar="NAME", help="Only sources of the machine NAME; wildcards: * and ?."
)
@click.option("--role", type=click.Choice(ALL_ROLES), help="Only sources with this role.")
@click.option("--state", type=click.Choice(STATES), help="Only sources in this state.")
@click.option("--path", metavar="TEXT", help="Only files whose path contains this.")
@limit_option(0)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    accounting: bool,
    limit: int,
    **filters: str | None,
) -> None:
    from session_memory.views.sources import account

    settings: Settings = ctx.obj
    if accounting:
        with settings.opened() as store:
            sums = account(store)
        print_json(sums.to_dict()) if settings.as_json else print_lines(_sums(sums))
        if sums.totals.unaccounted:
            ctx.exit(PROBLEMS)
        return
    with settings.memory() as memory:
        listing = memory.sources(limit=limit, **filters)
    if settings.as_json:
        print_json(listing.to_dict())
        return
    print_lines(_lines(listing.sources))
    more = listing.total > len(listing.sources)
    shown = f"{len(listing.sources):,} of " if more else ""
    all_of_them = " --limit 0 lists all." if more else ""
    remark(settings, f"{shown}{plural(listing.total, 'source')}.{all_of_them}")


def _lines(sources: "list[Source]") -> Iterator[str]:
    """Return a table without the columns that have the same value in every line."""
    columns = (
        Column("state"),
        Column("host", flexible=True, spare=4),
        Column("flavor"),
        Column("role"),
        Column("size", right=True),
        Column("lines", right=True, spare=2),
        Column("read at", spare=3),
        Column("path", flexible=True, middle=True, least=40),
    )
    alike = {
        "host": len({source.host for source in sources}) < 2,
        "flavor": len({source.flavor for source in sources}) < 2,
    }
    shown = [place for place, column in enumerate(columns) if not alike.get(column.title)]
    rows = (_cells(source) for source in sources)
    kept = [[row[place] for place in shown] for row in rows]
    return table([columns[place] for place in shown], kept, terminal_width()) if kept else iter(())


def _cells(source: "Source") -> tuple[str | Cell, ...]:
    return (
        Cell(source.state, _STYLES.get(source.state, {"fg": "green"})),
        source.host,
        source.flavor,
        source.role if source.redacted_from is None else f"{source.role}, masked",
        size(source.kept),
        f"{source.lines:,}",
        local(source.ingested_at),
        short_path(source.path),
    )


def _sums(sums: "Accounting") -> Iterator[str]:
    totals = sums.totals
    meanings = {
        "events": "gave events",
        "bookkeeping": "are the agent's bookkeeping: kept, but no events",
        "copies": "repeat a record that is stored already",
        "problems": "could not be read: session-memory problems",
        "unaccounted": "unaccounted for",
    }
    if totals.unfinished:
        meanings["unfinished"] = "more are being written: last lines that are not whole yet"
    yield f"{totals.lines:>12,}  non-blank lines in {plural(sums.sources, 'log')}"
    for name, meaning in meanings.items():
        number = getattr(totals, name)
        color = "red" if name == "unaccounted" and number else None
        yield click.style(f"{number:>12,}  {meaning}", fg=color)
        if name == "bookkeeping":
            for kind, lines in totals.bookkeeping_kinds.items():
                yield f"{'':>12}  {lines:>12,}  {safe(kind)}"
    for path, lines in sums.unaccounted.items():
        yield f"{lines:>12,}  in {safe(short_path(path))}"
