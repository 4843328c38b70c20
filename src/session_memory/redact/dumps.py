"""Mask texts that are full of secrets as a whole, such as a dump of passwords.

Examining tens of thousands of secrets one by one takes seconds, which a hostile text could abuse.
No session needs the text between them, so the long strings of such a text are masked whole.
"""

import re
from collections.abc import Iterator

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.redact.detection import DUMP, Secret
from session_memory.redact.search import find_at_most, find_secrets

# A text shorter than SHORTEST is no dump. A longer one is a dump if it has more than MOST secrets
# and one more for every _APART characters.
SHORTEST = 8 * 1024
MOST = 512
_APART = 256
_LONG_STRING = 512
_STRING = lazy_pattern(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
# Parts of a string that can be masked without breaking JSON. They have no quotes, and no escapes
# except whole ones that stand for a character by its number.
_PIECE = lazy_pattern(
    r'(?P<piece>(?:[^"\\\t\n\r]|\\u[0-9a-fA-F]{4}|\\[01][0-7]{2})+)|\\.|[^\\]|\\', re.DOTALL
)
# Numbers and structure of JSON in JSON.
_STRUCTURE = lazy_pattern(r"(?:[\d.,:\[\]{}eE+\s-]|true|false|null)*+")


def found_or_dump(text: str) -> list[Secret]:
    """Return the secrets of a text whose characters are bytes; of a dump, the pieces with them."""
    if len(text) < SHORTEST:
        return find_secrets(text)
    found = find_at_most(text, MOST + len(text) // _APART)
    return sorted(_dumped(text)) if found is None else found


def _dumped(text: str) -> Iterator[Secret]:
    if text.lstrip()[:1] not in ("{", "["):
        yield from _pieces(text, 0, len(text))
        return
    # Short strings of a record are its ids, times and types.
    parts: list[str] = []
    last = 0
    for string in _STRING.finditer(text):
        start, end = string.span()
        if end - start >= _LONG_STRING:
            yield from _pieces(text, start + 1, end - 1)
            parts += (text[last:start], " " * (end - start))
            last = end
    yield from find_secrets("".join((*parts, text[last:])))


def _pieces(text: str, start: int, end: int) -> Iterator[Secret]:
    for match in _PIECE.finditer(text, start, end):
        if match.lastgroup is None:
            continue
        first = match.start()
        is_number_in_text = text[first - 1 : first] in ('"', "\\") and text[first].isdigit()
        if is_number_in_text or not _STRUCTURE.fullmatch(match[0]):
            yield Secret(first, match.end(), DUMP)
