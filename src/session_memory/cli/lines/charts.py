"""Tables with a bar at the end of each line. A narrow terminal shows fewer columns."""

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
    """Yield the lines of a table that fits into ``limit`` columns of the terminal.

    If it is too wide, columns on the right are left out, but never the first ``keep``. If there is
    room, each line ends with a bar for its value in ``amounts``. The longest bar stands for
    ``largest``, by default for the largest amount.
    """
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
    """Return the width of a table in which flexible columns have at most ``most`` characters.

    If ``most`` is 0, they have at most their ``least``.
    """
    held = (
        min(size, most or one.least) if one.flexible else size
        for one, size in zip(columns, sizes, strict=False)
    )
    return sum(held) + len(GAP) * (len(columns) - 1)


def plain(line: str, using: ChartSigns) -> str:
    """Return ``line`` with its ellipsis replaced if the output shows only ASCII."""
    return line.replace("…", using.more) if using is ASCII else line
