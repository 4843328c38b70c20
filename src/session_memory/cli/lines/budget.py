"""Budgets as lines: what was spent, what is left, and the forecast."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.cli.lines.bars import bar, signs
from session_memory.pricing.money_text import dollars, shown

if TYPE_CHECKING:
    from session_memory.views.budget import Budget, BudgetPeriod

COLUMNS = (
    Column("period"),
    Column("spent", right=True),
    Column("limit", right=True),
    Column("left", right=True),
    Column("at this pace", right=True),
    Column(""),
)
_STYLES: dict[str, dict[str, Any]] = {
    "over": {"fg": "red"},
    "near": {"fg": "yellow"},
    "ok": {"fg": "green"},
}
_NAMES = {"day": "today", "month": "this month"}
_WIDE = 20


def budget_lines(budget: "Budget", limit: int | None) -> Iterator[str]:
    return table(COLUMNS, [_cells(standing) for standing in budget.periods], limit)


def _cells(standing: "BudgetPeriod") -> list[str | Cell]:
    style = _STYLES.get(standing.state, {})
    drawn = bar(standing.spent, standing.limit or 0, _WIDE, signs())
    return [
        _NAMES[standing.period],
        Cell(shown(standing.tally.amount), style),
        "-" if standing.limit is None else dollars(standing.limit),
        "-" if standing.left is None else dollars(standing.left),
        dollars(standing.forecast),
        Cell(drawn, style),
    ]


def warnings(budget: "Budget") -> Iterator[str]:
    """A sentence for each limit that is nearly reached or exceeded."""
    for standing in budget.periods:
        if standing.limit is None or standing.state not in ("near", "over"):
            continue
        # A limit can be less than a millionth of a dollar, which is stored as 0.
        share = f" ({standing.spent * 100 // standing.limit} %)" if standing.limit else ""
        spent = f"{dollars(standing.spent)} of {dollars(standing.limit)}"
        word = "over budget" if standing.state == "over" else "near the budget"
        yield f"{word}: {spent}{share} spent {_NAMES[standing.period]}"
