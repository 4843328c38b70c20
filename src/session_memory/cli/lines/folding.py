"""Shorten long texts for a terminal: keep the beginning and the end, count the lines between."""

from collections.abc import Iterator

from session_memory.render.text import safe_lines, width
from session_memory.views.figures import plural

HEAD, TAIL = 6, 3
LONGEST = 400


def folded(text: str, columns: int | None = None) -> list[str]:
    """Return the first and the last lines, and between them a line that counts the others.

    Lines are made safe and cut to ``columns``. Of a text with few lines, all lines are returned.
    """
    lines = text.strip("\n").split("\n")
    if len(lines) <= HEAD + TAIL + 1:
        return [_cut(line, columns) for line in lines]
    left_out = f"… {plural(len(lines) - HEAD - TAIL, 'more line')}"
    first, last = lines[:HEAD], lines[-TAIL:]
    return [*(_cut(one, columns) for one in first), left_out, *(_cut(one, columns) for one in last)]


def whole(text: str) -> list[str]:
    """Return every line, made safe."""
    return safe_lines(text.strip("\n")) if text.strip("\n") else []


def _cut(line: str, columns: int | None) -> str:
    """Cut a line to ``columns``. Only as much of the line is read as can be shown."""
    most = columns or LONGEST
    beginning = safe_lines(line[: most * 2].removesuffix("\r"))[0]
    if len(line) <= most * 2 and width(beginning) <= most:
        return beginning
    return f"{_fitting(beginning, most - 1)}…"


def _fitting(text: str, columns: int) -> str:
    if text.isascii():
        return text[:columns]
    used = 0
    for place, character in enumerate(text):
        used += width(character)
        if used > columns:
            return text[:place]
    return text


def wrapped(line: str, columns: int | None) -> Iterator[str]:
    """Break a safe line into pieces of at most ``columns`` columns, at blanks if possible."""
    while columns and width(line) > columns:
        piece = _fitting(line, columns)
        blank = piece.rfind(" ", columns // 3)
        place = blank if blank > 0 and len(piece) < len(line) else len(piece)
        if not place:
            break
        yield line[:place].rstrip()
        line = line[place:].lstrip(" ")
    yield line
