"""Tables with a bar at their end, which fit: what is least telling goes first."""

from collections.abc import Iterator, Sequence

from session_memory.cli.kit.output import GAP, Cell, Column, table
from session_memory.cli.lines.bars import ASCII, ChartSigns, bar, room
from session_memory.render.text import safe, width

COMFORTABLE = 40
Rows = Sequence[Sequence[str | Cell]]


def chart(
    columns: Sequence[Column],
    rows: Rows,
    limit: int | None,
    using: ChartSigns,
    *,
    amounts: Sequence[float] = (),
    largest: float | None = None,
    keep: int = 2,
) -> Iterator[str]:
    """Aligned lines. Where ``limit`` columns are too few, those on the right are left out, but
    not the first ``keep``. If there is room, a bar for each of ``amounts`` stands at the end: as a
    part of ``largest``, else of the largest of them."""
    if not rows:
        return
    sizes = [_size(column, place, rows) for place, column in enumerate(columns)]
    shown = len(columns)
    while limit is not None and shown > keep and _taken(columns[:shown], sizes) > limit:
        shown -= 1
    cut = [list(row[:shown]) for row in rows]
    titles = list(columns[:shown])
    taken = _taken(titles, sizes, COMFORTABLE) + len(GAP)
    if amounts and (free := room(limit, taken)):
        titles.append(Column(""))
        whole = max(amounts) if largest is None else largest
        for row, amount in zip(cut, amounts, strict=True):
            row.append(Cell(bar(amount, whole, free, using), {"fg": "cyan"}))
    for line in table(titles, cut, limit):
        yield plain(line, using)


def _size(column: Column, place: int, rows: Rows) -> int:
    texts = (row[place] for row in rows)
    shown = (safe(one.text if isinstance(one, Cell) else one) for one in texts)
    return max(width(column.title), *(width(text) for text in shown))


def _taken(columns: Sequence[Column], sizes: Sequence[int], most: int = 0) -> int:
    """Columns of the terminal, with flexible ones no wider than ``most``, else than they must."""
    held = (
        min(size, most or one.least) if one.flexible else size
        for one, size in zip(columns, sizes, strict=False)
    )
    return sum(held) + len(GAP) * (len(columns) - 1)


def plain(line: str, using: ChartSigns) -> str:
    """With the ellipsis that the output can show."""
    return line.replace("…", using.more) if using is ASCII else line


def tail(text: str, columns: int | None) -> str:
    """The end of ``text``, of which a path says most, in at most so many columns."""
    text = safe(text)
    if columns is None or width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[1:]
    return f"…{text}"
