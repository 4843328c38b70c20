"""Text as words: the one rule by which texts are indexed and questions are read.

A word is a run of ASCII letters and digits, or of letters of any other script, with case and
accents folded. Scripts that put no blank between words give one word for each character, so that
any part of a sentence can be found.
"""

import re
import unicodedata

LONGEST = 200
"""Longer words are known by their beginning; texts are compared in full where it matters."""

PIECE = 1024 * 1024
_GAP = re.compile(r"\s")
_WORDS = re.compile("[0-9a-z\x80-\U0010ffff]+")
# Han, kana, Thai, Lao, Tibetan, Myanmar, Khmer, and their extensions.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x0F00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_ACCENTS = (0x0300, 0x036F)


class _Folding(dict[int, str]):
    """What each character becomes; filled as they are met. ASCII stays as it is."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = folded = "".join(map(_folded, _plain(_plain(char)))) if code >= 0x80 else char
        return folded


def _plain(char: str) -> str:
    """Twice gives the same as ever after; some letters fold to capitals, hence the ``lower``."""
    return unicodedata.normalize("NFKD", char.casefold()).lower()


def _folded(char: str) -> str:
    code = ord(char)
    if code < 0x80:
        return char
    if _ACCENTS[0] <= code <= _ACCENTS[1]:
        return ""
    kind = unicodedata.category(char)
    if kind[0] in "LNM":
        alone = any(first <= code <= last for first, last in _UNSPACED)
        return f" {char} " if alone else char
    # A pictogram is a word of its own; anything else parts words.
    return f" {char} " if kind == "So" else " "


_FOLDING = _Folding()
_ASCII = bytes(range(0x80))
_FEW = 16


def indexable(text: str) -> str:
    """The text with nothing in it but words and what parts them; ASCII keeps its case."""
    if text.isascii():
        return text
    # Far quicker than to look at every character: an output has an arrow or a dash in it.
    others = set(
        text.encode(errors="surrogatepass").translate(None, _ASCII).decode(errors="surrogatepass")
    )
    if len(others) > _FEW:
        return text.translate(_FOLDING)
    for char in others:
        text = text.replace(char, _FOLDING[ord(char)])
    return text


def words_in(text: str) -> list[str]:
    """Every word of a text, in order."""
    return [word[:LONGEST] for word in _WORDS.findall(indexable(text).lower())]


def vocabulary(text: str) -> dict[str, None]:
    """Every word of a text once. A long one is taken in pieces: its words, as a list, would take
    many times its size."""
    found: dict[str, None] = {}
    start = 0
    while start < len(text):
        gap = _GAP.search(text, start + PIECE)
        end = gap.start() if gap else len(text)
        found |= dict.fromkeys(words_in(text[start:end]))
        start = end
    return found


def folded(text: str) -> str:
    """For comparing texts as they stand: case and accents do not matter, all else does."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return plain.translate(dict.fromkeys(range(_ACCENTS[0], _ACCENTS[1] + 1)))
