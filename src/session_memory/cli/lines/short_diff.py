"""Shorten a diff to a few short lines that show what changed, for the answers of ``fix``."""

import os
from collections.abc import Iterable, Iterator, Sequence

from session_memory.cli.lines.diff import diff_lines

MOST = 16
BEFORE = 24
"""If only the end of a long line changed, this many characters before it are shown."""


def short_diff(lines: Iterable[str], columns: int) -> Iterator[str]:
    """Yield the changed lines with one line before and after, less indented, safe and coloured.

    If a removed and an added line begin alike, both are cut to the part that differs.
    """
    kept = _near_changes([line for line in lines if not line.startswith("@@")])
    shown = _at_their_difference(_less_indented(kept), columns)
    yield from diff_lines(shown[:MOST], columns)
    if len(shown) > MOST:
        yield "…"


def _near_changes(lines: Sequence[str]) -> list[str]:
    changed = [place for place, line in enumerate(lines) if line[:1] in ("+", "-")]
    near = {place + step for place in changed for step in (-1, 0, 1)}
    kept = [line for place, line in enumerate(lines) if place in near or not changed]
    return [line for line in kept if line[1:].strip()] or kept


def _less_indented(lines: Sequence[str]) -> list[str]:
    bodies = [line[1:].expandtabs(4) for line in lines]
    indents = [len(body) - len(body.lstrip()) for body in bodies if body.strip()]
    # One blank stays, so that a + or - in the line is not taken for the sign of the diff.
    least = max(0, min(indents, default=0) - 1)
    return [line[:1] + body[least:] for line, body in zip(lines, bodies, strict=True)]


def _at_their_difference(lines: Sequence[str], columns: int) -> list[str]:
    shown = list(lines)
    for old, new in _pairs(lines):
        start = len(os.path.commonprefix((lines[old][1:], lines[new][1:])))
        longest = max(len(lines[old]), len(lines[new]))
        if longest <= columns or start < columns // 2:
            continue
        left_out = max(0, min(start, longest - columns // 2) - BEFORE)
        for place in (old, new):
            line = lines[place]
            shown[place] = f"{line[0]}…{line[1 + left_out :]}"
    return shown


def _pairs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of each removed line and of the added line that replaced it."""
    place = 0
    while place < len(lines):
        removed = _run(lines, place, "-")
        added = _run(lines, place + removed, "+")
        if removed == added:
            yield from ((place + one, place + removed + one) for one in range(removed))
        place += max(removed + added, 1)


def _run(lines: Sequence[str], start: int, mark: str) -> int:
    """Count the lines from ``start`` on that begin with ``mark``."""
    end = start
    while end < len(lines) and lines[end].startswith(mark):
        end += 1
    return end - start
