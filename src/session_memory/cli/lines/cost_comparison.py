"""The cost that agents log themselves beside the cost that we calculate, as lines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.pricing.money_text import dollars
from session_memory.render.text import safe
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.views.cost_comparison import ComparedCost, CostComparison
    from session_memory.views.session_labels import SessionLabels

ROWS = (
    Column("agent"),
    Column("model", flexible=True, least=20),
    Column("figures", spare=1),
    Column("theirs", right=True),
    Column("ours", right=True),
    Column("difference", right=True),
)
SESSIONS = (
    Column("session", flexible=True, middle=True, least=17),
    Column("title", flexible=True, least=20, spare=1),
    Column("model", flexible=True, least=20, spare=2),
    Column("theirs", right=True),
    Column("ours", right=True),
    Column("difference", right=True),
)


def comparison_lines(compared: "CostComparison", limit: int | None) -> Iterator[str]:
    """Yield a table with a row for each agent and model. Lines below say what was not compared."""
    yield from table(ROWS, [_row(row) for row in compared.rows], limit)
    for row in compared.rows:
        name = safe(f"{row.flavor}, {row.model or 'no model named'}")
        if row.zero:
            yield f"not compared: {name}: {_figures(row.zero, row)} of $0, ours is more"
        if row.unpriced:
            whole = f"{_figures(row.unpriced, row)}, {dollars(row.unpriced_reported)} in all"
            yield f"not compared: {name}: {whole}, unpriced here"
    yield from note_lines(compared.notes)


def note_lines(notes: dict[str, str]) -> Iterator[str]:
    """Yield a line for each agent that leaves something out of its own cost figures."""
    for flavor, note in notes.items():
        yield safe(f"{flavor} {note}")


def difference_lines(
    rows: "list[ComparedCost]", limit: int | None, labels: "SessionLabels"
) -> Iterator[str]:
    """Return a table of the sessions with the largest differences between theirs and ours."""
    cells: list[list[str | Cell]] = [
        [
            labels.name(row.uid),
            labels.title(row.uid) or "",
            row.model or "-",
            dollars(row.reported),
            dollars(row.ours),
            _signed(row),
        ]
        for row in rows
    ]
    return table(SESSIONS, cells, limit)


def _row(row: "ComparedCost") -> list[str | Cell]:
    amounts = [dollars(row.reported), dollars(row.ours), _signed(row)] if row.compared else [""] * 3
    return [row.flavor, row.model or "-", _counts(row), *amounts]


def _counts(row: "ComparedCost") -> str:
    """Return how many figures were compared, such as ``12 of 14 responses`` or ``3 sessions``."""
    if row.per == "session":
        return plural(row.compared, "session")
    return f"{row.compared:,} of {plural(row.responses, 'response')}"


def _figures(count: int, row: "ComparedCost") -> str:
    return plural(count, f"figure for a {row.per}", f"figures for {row.per}s")


def _signed(row: "ComparedCost") -> str:
    if row.is_rounding:
        return "same"
    part = f" ({row.difference / row.reported:+.1%})" if row.reported else ""
    return f"{'+' if row.difference > 0 else ''}{dollars(row.difference)}{part}"
