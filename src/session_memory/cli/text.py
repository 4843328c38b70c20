"""Text from logs, made fit for a terminal: nothing in it moves the cursor, hides or reorders.

Everything a command prints that came from outside goes through `safe` or `safe_lines`.
"""

import re
import unicodedata

# Control characters (ANSI escapes begin with one), invisible format characters, overrides of the
# writing direction, "tags", lone surrogates. Joiners stay: scripts and emoji need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_BLANK = re.compile(r"[\t\n\v\f\r]+")


def safe(text: str) -> str:
    """``text`` on one line, with everything that is not plain text as a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, _BLANK.sub(" ", text))


def safe_lines(text: str) -> list[str]:
    """The lines of ``text``, each safe; tabs become blanks."""
    return [_UNSAFE.sub(_escaped, line.expandtabs(4)) for line in re.split("\r?\n", text)]


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


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
