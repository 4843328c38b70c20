"""Text from logs, made fit for a terminal: nothing in it moves the cursor, hides or reorders.

Everything a command prints that came from outside goes through `safe` or `safe_lines`.
"""

import re
import unicodedata

from session_memory.core.text import visible

_BLANK = re.compile(r"[\t\n\v\f\r]+")


def safe(text: str) -> str:
    """``text`` on one line, with everything that is not plain text as a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return visible(_BLANK.sub(" ", text))


def safe_lines(text: str) -> list[str]:
    """The lines of ``text``, each safe; tabs become blanks."""
    return [visible(line.expandtabs(4)) for line in re.split("\r?\n", text)]


def width(text: str) -> int:
    """How many columns ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """``text`` in at most ``columns`` columns, with an ellipsis where some of it is missing."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += _width(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept) + "…" if columns > 0 else ""


def cut_middle(text: str, columns: int) -> str:
    """``text`` in at most ``columns`` columns, the middle replaced by an ellipsis: of a path, the
    end says most, and of an id, the beginning finds it."""
    if width(text) <= columns:
        return text
    if columns < 3:
        return cut(text, columns)
    head = (columns - 1) // 3
    tail, used = "", 0
    for character in reversed(text):
        used += _width(character)
        if used > columns - 1 - head:
            break
        tail = character + tail
    return cut(text, head + 1) + tail
