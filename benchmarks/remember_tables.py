"""Rows of figures: what `remember.py` prints, and its JSON."""

from collections.abc import Sequence
from statistics import mean, median

import msgspec

Cell = float | int | str | None


class Row(msgspec.Struct, frozen=True):
    name: str
    cells: dict[str, Cell]


class Table(msgspec.Struct, frozen=True):
    title: str
    rows: list[Row]
    misses: list[str] = []

    def __str__(self) -> str:
        columns = list(dict.fromkeys(name for row in self.rows for name in row.cells))
        lines = [f"{self.title:<54}" + "".join(f"{name:>10}" for name in columns)]
        for row in self.rows:
            cells = "".join(f"{_shown(row.cells.get(name)):>10}" for name in columns)
            lines.append(f"  {row.name:<52}{cells}")
        return "\n".join(lines)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def share(values: Sequence[float]) -> float | None:
    return round(float(mean(values)), 4) if values else None


def middle(values: Sequence[float]) -> int | None:
    return round(median(values)) if values else None
