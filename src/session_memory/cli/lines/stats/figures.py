"""Format figures of ``stats``: rates, durations, sizes. Rates that need attention are coloured."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.output import Cell
from session_memory.cli.lines.bars import ChartSigns, spark
from session_memory.cli.lines.charts import plain
from session_memory.views.figures import count, duration

if TYPE_CHECKING:
    from session_memory.views.stats.sections import Rows, Spread

Limit = int | None


def share(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"


def bad(rate: float | None) -> Cell:
    """Format a rate of failures: yellow from 10 %, red from 25 %."""
    style = {"fg": "red"} if (rate or 0) >= 0.25 else {"fg": "yellow"} if (rate or 0) >= 0.1 else {}
    return Cell("-" if not rate else share(rate), style)


def good(rate: float | None) -> Cell:
    """Format a rate of successes: green from 90 %, red below 50 %, yellow between."""
    if rate is None:
        return Cell("-")
    return Cell(share(rate), {"fg": "green" if rate >= 0.9 else "red" if rate < 0.5 else "yellow"})


def spent(ms: int | None) -> str:
    return "-" if ms is None else duration(ms / 1000)


def trend(name: str, values: Sequence[float], limit: Limit, using: ChartSigns) -> str:
    free = 60 if limit is None else max(limit - len(name) - 2, 8)
    return f"{name}  {spark(values, free, using)}".rstrip()


def more(rows: "Rows[Any]", using: ChartSigns) -> Iterator[str]:
    left = rows.total - len(rows.rows)
    if left > 0:
        yield click.style(plain(f"… and {left:,} more", using), dim=True)


def sizes(spread: "Spread") -> tuple[str, str, str]:
    return count(spread.median), count(spread.p95), count(spread.max)


def numbers(first: int, last: int | None) -> str:
    return str(first) if first == last else f"{first}-{last}" if last else f"{first}-"
