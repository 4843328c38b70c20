"""Print answers: JSON for programs, tables for people."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import click

from session_memory.cli.kit.calling import callable_text
from session_memory.render.json_text import to_json
from session_memory.render.text import cut, cut_middle, safe, width

GAP = "  "
BATCH = 200
NARROWEST = 10


def print_json(value: Any) -> None:
    """Print JSON: on one line, or indented on a terminal."""
    click.echo(to_json(value, indent=2 if sys.stdout.isatty() else None))


def print_json_list(head: dict[str, Any], name: str, items: Iterable[Any]) -> None:
    """Print ``head`` with a list ``name`` as its last value, exactly as `print_json` would.

    The items are printed while they are made, so a long list is never whole in memory.
    """
    indent = 2 if sys.stdout.isatty() else None
    end = "]\n}" if indent else "]}"
    click.echo(to_json({**head, name: []}, indent=indent).removesuffix(end), nl=False)
    before, between, after = ("\n    ", ",\n    ", "\n  ") if indent else ("", ", ", "")
    is_empty, source = True, iter(items)
    while batch := list(islice(source, BATCH)):
        # JSON escapes line breaks in texts, so every line break here is layout.
        texts = (to_json(one, indent=indent).replace("\n", "\n    ") for one in batch)
        click.echo((before if is_empty else between) + between.join(texts), nl=False)
        is_empty = False
    click.echo(end if is_empty else after + end)


class Column(NamedTuple):
    """A column of a table, and how it shrinks on a narrow terminal.

    First, ``flexible`` columns are cut, to no less than ``least`` characters. They are cut at the
    end, or with ``middle`` in the middle. If that is not enough, columns are left out, the highest
    ``spare`` first (0: never left out). Last, flexible columns are cut to ten characters.
    """

    title: str
    right: bool = False
    flexible: bool = False
    spare: int = 0
    least: int = NARROWEST
    middle: bool = False


class Cell(NamedTuple):
    """A table cell: a text with a style of ``click.style``, then a ``tail`` in a weak colour.

    If the column is too narrow, the text is shortened. The tail is shown in full, or left out if
    it would leave no room for the text.
    """

    text: str
    style: dict[str, Any] = {}
    tail: str = ""

    @property
    def width(self) -> int:
        return width(self.text) + width(self.tail)


def terminal_width() -> int | None:
    """The width of the terminal; None if the output is no terminal: then lines must not be cut."""
    if not sys.stdout.isatty():
        return None
    # Imported late, because ``shutil`` imports all libraries for compressed files.
    from shutil import get_terminal_size

    return get_terminal_size().columns


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[str | Cell]], limit: int | None = None
) -> Iterator[str]:
    """Yield the lines of an aligned table, titles first, in at most ``limit`` columns.

    Unsafe characters in cells are escaped.
    """
    cells = [[_safe(cell) for cell in row] for row in rows]
    titles = [Cell(column.title, {"bold": True}) for column in columns]
    widths = [max(cell.width for cell in column) for column in zip(titles, *cells, strict=True)]
    kept = _kept(columns, widths, limit)
    columns, widths = [columns[place] for place in kept], [widths[place] for place in kept]
    _shrink(columns, widths, limit)
    for whole in (titles, *cells):
        row = [whole[place] for place in kept]
        yield GAP.join(
            _placed(cell, column, size)
            for cell, column, size in zip(row, columns, widths, strict=True)
        ).rstrip()


def _safe(cell: str | Cell) -> Cell:
    if isinstance(cell, str):
        return Cell(safe(cell))
    return Cell(safe(cell.text), cell.style, safe(cell.tail))


def _kept(columns: Sequence[Column], widths: list[int], limit: int | None) -> list[int]:
    """The indexes of the columns that fit when flexible ones are cut to their ``least`` width."""
    kept = list(range(len(columns)))

    def needed() -> int:
        flexible = {n: columns[n].least for n in kept if columns[n].flexible}
        least = sum(min(widths[n], flexible.get(n, widths[n])) for n in kept)
        return least + len(GAP) * (len(kept) - 1)

    while limit is not None and needed() > limit:
        spare = max(kept, key=lambda place: columns[place].spare)
        if not columns[spare].spare:
            break
        kept.remove(spare)
    return kept


def _shrink(columns: Sequence[Column], widths: list[int], limit: int | None) -> None:
    """Cut ``widths`` of flexible columns, the widest first, until all columns fit.

    A column is cut below its ``least`` only when all flexible columns have their least width.
    """
    if limit is None:
        return
    missing = sum(widths) + len(GAP) * (len(widths) - 1) - limit
    for _ in range(missing):
        for least in ([column.least for column in columns], [NARROWEST] * len(columns)):
            wide = [n for n, one in enumerate(columns) if one.flexible and widths[n] > least[n]]
            if wide:
                widths[max(wide, key=lambda place: widths[place])] -= 1
                break
        else:
            return


def _placed(cell: Cell, column: Column, size: int) -> str:
    tail = cell.tail if width(cell.tail) + NARROWEST <= size else ""
    room = size - width(tail)
    text = cut_middle(cell.text, room) if column.middle else cut(cell.text, room)
    blank = " " * (room - width(text))
    styled = click.style(text, **cell.style) if cell.style and text else text
    styled += click.style(tail, dim=True) if tail else ""
    return blank + styled if column.right else styled + blank


def print_lines(lines: Iterable[str]) -> None:
    """Print lines in batches, because every call of ``echo`` flushes."""
    source = iter(lines)
    while batch := list(islice(source, BATCH)):
        click.echo("\n".join(batch))


def remark(settings: Any, text: str) -> None:
    """Print a sentence that is not part of the answer on stderr, so that the answer can be piped.

    With ``--quiet`` or ``--json`` nothing is printed.
    """
    if settings.chatty:
        click.secho(safe(callable_text(text)), err=True, dim=sys.stderr.isatty())
