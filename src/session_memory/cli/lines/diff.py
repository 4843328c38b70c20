"""Diffs in colour."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from session_memory.cli.lines.folding import folded
from session_memory.core.text import visible
from session_memory.views.figures import plural

MOST = 40
_STYLES: dict[str, dict[str, Any]] = {
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    "@": {"fg": "cyan", "dim": True},
}


def diff_lines(
    lines: Iterable[str], columns: int | None = None, *, shorten: bool = True
) -> Iterator[str]:
    """Yield the lines of a diff's body, safe and coloured, each in at most ``columns`` columns.

    A long diff is cut at its end. Without ``shorten`` nothing is cut.
    """
    kept = list(lines)
    for line in kept[:MOST] if shorten else kept:
        text = folded(line, columns)[0] if shorten else exact_line(line)
        style = _STYLES.get(line[:1])
        yield click.style(text, **style) if style and text else text
    if shorten and len(kept) > MOST:
        yield click.style(f"… {plural(len(kept) - MOST, 'more line')}", dim=True)


def exact_line(line: str) -> str:
    """Escape unsafe characters, but keep tabs and the carriage return of the line's end.

    So ``git apply`` gets the lines of the file as they are.
    """
    body = line.removesuffix("\r")
    kept = "\t".join(visible(part) for part in body.split("\t"))
    return kept + line[len(body) :]


def tally(added: int, removed: int) -> str:
    plus = click.style(f"+{added:,}", fg="green") if added else ""
    minus = click.style(f"-{removed:,}", fg="red") if removed else ""
    return " ".join(filter(None, (plus, minus)))
