"""A table of tasks (issues, pull requests, tickets) with the cost of their sessions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.cli.lines.cost import MONEY
from session_memory.core.time import format_time
from session_memory.pricing.money_text import shown
from session_memory.views.figures import local

if TYPE_CHECKING:
    from session_memory.views.tasks import TaskList

_COLUMNS = (
    Column("task", flexible=True, middle=True, least=17),
    Column("sessions", right=True),
    Column("last", spare=1),
    Column("cost", right=True),
)


def task_lines(listing: "TaskList", limit: int | None) -> Iterator[str]:
    rows: list[list[str | Cell]] = [
        [
            row.task,
            f"{len(row.sessions):,}",
            local(None if row.ended_at is None else format_time(row.ended_at)),
            Cell(shown(row.amount), MONEY),
        ]
        for row in listing.tasks
    ]
    return table(list(_COLUMNS), rows, limit)
