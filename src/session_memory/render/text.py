"""Make text from logs safe for a terminal: it cannot move the cursor, hide or reorder text.

Every text from outside that a command prints goes through `safe` or `safe_lines`.
"""

import re
import unicodedata

from session_memory.core.text import visible

_BLANK = re.compile(r"[\t\n\v\f\r]+")


def safe(text: str) -> str:
    """Return ``text`` on one line. A character that is not plain text becomes a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return visible(_BLANK.sub(" ", text))


def safe_lines(text: str) -> list[str]:
    """Return the lines of ``text``, each of them safe; tabs become blanks."""
    return [visible(line.expandtabs(4)) for line in re.split("\r?\n", text)]


def width(text: str) -> int:
    """Return how many columns ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Shorten ``text`` to at most ``columns`` columns, with an ellipsis at the end."""
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
    """Shorten ``text`` to at most ``columns`` columns, with an ellipsis for its middle.

    The beginning stays, because the beginning of an id finds the session. The name of a file at the
    end of a path stays whole if it fits.
    """
    if width(text) <= columns:
        return text
    if columns < 3:
        return cut(text, columns)
    head = (columns - 1) // 3
    name = width(text[text.rfind("/") :]) if "/" in text else 0
    if columns - 1 - head < name < columns:
        head = columns - 1 - name
    tail, used = "", 0
    for character in reversed(text):
        used += _width(character)
        if used > columns - 1 - head:
            break
        tail = character + tail
    return cut(text, head + 1) + tail
