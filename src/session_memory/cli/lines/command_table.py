"""The table of shell commands that sessions ran."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.views.figures import duration, local

if TYPE_CHECKING:
    from session_memory.views.commands import CommandList

COLUMNS = (
    Column("session", flexible=True, middle=True, least=17),
    Column("seq", right=True),
    Column("when", spare=1),
    Column("state"),
    Column("exit", right=True, spare=3),
    Column("time", right=True, spare=2),
    Column("command", flexible=True, least=40),
)
# The most characters of a command that a table shows.
LONGEST = 2000
_STYLES: dict[str, dict[str, Any]] = {"failed": {"fg": "red"}, "ok": {"fg": "green"}}


def command_lines(
    listing: "CommandList",
    names: Mapping[str, str],
    limit: int | None,
    tz: tzinfo | None = None,
) -> Iterator[str]:
    """Return a table with a line for each command; ``names`` has the short names of sessions."""
    rows: list[list[str | Cell]] = [
        [
            Cell(names.get(run.session_uid, run.session_uid), {"fg": "cyan"}),
            str(run.seq),
            local(run.ts, tz=tz),
            Cell(run.state, _STYLES.get(run.state, {"dim": True})),
            "-" if run.exit_code is None else str(run.exit_code),
            "-" if run.duration_ms is None else duration(run.duration_ms / 1000),
            run.command[:LONGEST],
        ]
        for run in listing.commands
    ]
    return table(COLUMNS, rows, limit) if rows else iter(())
