"""Bars, sparklines and heatmaps made of characters.

The shape of a character shows the figure, so colours are not needed to read it. `signs` returns
ASCII characters if the output cannot show block characters.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import click

from session_memory.render.text import width

LEAST, MOST = 4, 40
LEVELS = 4


class ChartSigns(NamedTuple):
    """The characters to draw with, ordered from the least to the largest figure.

    The first of ``shades`` means zero. ``more`` replaces the end of a text that was cut.
    """

    parts: str
    sparks: str
    shades: str
    more: str


BLOCKS = ChartSigns("▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█", "·░▒▓█", "…")
ASCII = ChartSigns("#", "_.-=+*%#", ".:+*#", "~")
_STYLES: tuple[dict[str, Any], ...] = (
    {"dim": True},
    *({"fg": green} for green in (22, 28, 34, 46)),
)


def signs(stream: IO[str] | None = None) -> ChartSigns:
    """Return block characters, or ASCII if the encoding of ``stream`` (stdout) has no blocks."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    try:
        "".join(BLOCKS).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def room(limit: int | None, taken: int, most: int = MOST) -> int:
    """Return how wide a bar may be if a line has ``limit`` columns and uses ``taken`` of them.

    At most ``most``; 0 if a useful bar does not fit. Without a limit (the output is no terminal)
    the bar has its full width.
    """
    left = most if limit is None else min(limit - taken, most)
    return left if left >= LEAST else 0


def bar(value: float, largest: float, columns: int, using: ChartSigns = BLOCKS) -> str:
    """Return a bar for ``value``; ``largest`` would fill all ``columns``.

    A value above zero always has a visible bar.
    """
    if value <= 0 or largest <= 0 or columns <= 0:
        return ""
    steps = len(using.parts)
    eighths = max(1, round(min(value / largest, 1) * columns * steps))
    whole, rest = divmod(eighths, steps)
    return using.parts[-1] * whole + (using.parts[rest - 1] if rest else "")


def spark(values: Sequence[float], columns: int | None = None, using: ChartSigns = BLOCKS) -> str:
    """Return a sparkline: one character for each value, a blank for zero.

    If there are more values than ``columns``, equal groups of values share a character.
    """
    if columns is not None and len(values) > columns:
        values = _grouped(values, columns)
    largest = max(values, default=0)
    return "".join(_spark(value, largest, using.sparks) for value in values)


def _grouped(values: Sequence[float], columns: int) -> list[float]:
    """Return the average of each group. Sums would mislead: some groups have one value more."""
    edges = [place * len(values) // columns for place in range(columns + 1)]
    return [
        sum(values[first:end]) / (end - first) for first, end in zip(edges, edges[1:], strict=False)
    ]


def _spark(value: float, largest: float, sparks: str) -> str:
    if value <= 0 or largest <= 0:
        return " "
    return sparks[min(int(value / largest * len(sparks)), len(sparks) - 1)]


def cuts(values: Iterable[float]) -> list[float]:
    """Return the three limits between four shades.

    Each shade gets a quarter of the values above zero. If most values are equal, they get the
    lightest shade. The largest value always gets the darkest.
    """
    some = sorted(value for value in values if value > 0)
    if not some:
        return []
    lesser = next((value for value in reversed(some) if value < some[-1]), 0)
    ends = (-(-len(some) * part // LEVELS) - 1 for part in range(1, LEVELS))
    return [min(some[end], lesser) for end in ends]


def shade(value: float | None, at: Sequence[float], using: ChartSigns = BLOCKS) -> str:
    """Return one styled character for ``value``; a blank for None. ``at`` are limits of `cuts`."""
    if value is None:
        return " "
    level = 0 if value <= 0 else 1 + bisect_left(at, value)
    return click.style(using.shades[level], **_STYLES[level])


def heatmap(
    rows: Sequence[tuple[str, Sequence[float | None]]], *, wide: int = 1, using: ChartSigns = BLOCKS
) -> Iterator[str]:
    """Yield a line for each row: its label, and a shade for each value, ``wide`` columns each.

    All rows share one scale.
    """
    at = cuts(value for _, cells in rows for value in cells if value is not None)
    size = max((width(label) for label, _ in rows), default=0)
    for label, cells in rows:
        drawn = "".join(shade(cell, at, using) + " " * (wide - 1) for cell in cells)
        yield f"{label}{' ' * (size - width(label))} {drawn}".rstrip()


def legend(using: ChartSigns = BLOCKS) -> str:
    """The legend of the shades: ``less · ░ ▒ ▓ █ more``."""
    shades = (click.style(s, **_STYLES[n]) for n, s in enumerate(using.shades))
    return f"less {' '.join(shades)} more"
