"""How texts become the words of the search index. Indexed texts and queries use the same rule.

A word is a run of letters and digits. Case and accents are ignored. In scripts without blanks
between words every character is a word, so any part of a sentence can be found.

Two ASCII words with a hyphen between them also give a *joint*: the last character of the first word
and the first character of the second. So a search for ``a-b`` finds few texts, although nearly
every text has the words ``a`` and ``b``.
"""

import unicodedata
from itertools import pairwise

from session_memory.core.lazy_patterns import lazy_pattern

LONGEST = 200
"""Longer words are cut to this many characters, in the index and in queries."""

PIECE = 1024 * 1024
_GAP = lazy_pattern(r"\s")
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
_MARKS = lazy_pattern(f"[{chr(_ACCENTS[0])}-{chr(_ACCENTS[1])}]+")
HYPHEN = "-"
JOINT = "\ue000"
"""The first character of a joint in the index. It is part of no word."""


class _Folding(dict[int, str]):
    """A cache: code of a character → its replacement. ASCII characters stay unchanged."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = folded = "".join(map(_folded, _plain(_plain(char)))) if code >= 0x80 else char
        return folded


def _plain(char: str) -> str:
    """Return ``char`` in lower case, without compatibility forms, with accents as extra characters.

    Call it twice: a few characters have their final form only then, for example ``ϲ``. Some letters
    fold to capitals, so the result is made lower-case.
    """
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
    # A pictogram is a word by itself. All other characters separate words.
    return f" {char} " if kind == "So" else " "


_FOLDING = _Folding()
_ASCII = bytes(range(0x80))
_FEW = 16
# For `bytes.translate`: ASCII letters and digits in lower case, blanks instead of other ASCII
# characters. The bytes of other characters stay.
_IN_WORDS = bytes(
    code if code >= 0x80 else ord(chr(code).lower()) if chr(code).isalnum() else ord(" ")
    for code in range(0x100)
)


def indexable(text: str) -> str:
    """Return ``text`` with its non-ASCII characters folded or replaced by blanks.

    ASCII characters stay, with their case.
    """
    if text.isascii():
        return text
    # Most texts have few different non-ASCII characters, such as an arrow or a dash. Replacing
    # each of them is far faster than translating every character.
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
    return [word[:LONGEST] for word in _split(indexable(text))]


def _split(plain: str) -> list[str]:
    """Return the words of a text that `indexable` returned. Long words are not cut."""
    # A regular expression takes twice as long.
    return plain.encode().translate(_IN_WORDS).decode().split()


def joints_in(text: str) -> list[str]:
    """The joints of a text that `indexable` returned, each once."""
    if HYPHEN not in text:
        return []
    ends = {before[-1:] + after[:1] for before, after in pairwise(text.split(HYPHEN))}
    if not text.isascii():
        # The databases ignore the case of ASCII letters only, so a joint has no other letters.
        ends = {end for end in ends if end.isascii()}
    return sorted({JOINT + end.lower() for end in ends if len(end) == 2 and end.isalnum()})


def with_joints(text: str) -> str:
    """Return the text to index: what `indexable` returns, followed by the joints."""
    plain = indexable(text)
    joints = joints_in(plain)
    return f"{plain} {' '.join(joints)}" if joints else plain


def vocabulary(text: str) -> dict[str, None]:
    """Every word of a text once, as keys in order of appearance."""
    return _different_words(indexable(text))


def index_terms(text: str) -> list[str]:
    """Every word of a text once, then its joints."""
    plain = indexable(text)
    return [*_different_words(plain), *joints_in(plain)]


def _different_words(plain: str) -> dict[str, None]:
    """Return every word once, as keys in order of appearance.

    A long text is split in pieces, because a list of all its words would need much memory.
    """
    words: dict[str, None] = {}
    start = 0
    while start < len(plain):
        gap = _GAP.search(plain, start + PIECE)
        end = gap.start() if gap else len(plain)
        words |= dict.fromkeys(_split(plain[start:end]))
        start = end
    if max(map(len, words), default=0) > LONGEST:
        words = dict.fromkeys(word[:LONGEST] for word in words)
    return words


def folded(text: str) -> str:
    """``text`` without case and accents, for comparing texts character by character."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))


class _Separate(dict[str, bool]):
    """A cache: whether `folded` turns a non-ASCII character into at least one character, and into
    no ASCII character."""

    def __missing__(self, char: str) -> bool:
        plain = folded(char)
        self[char] = known = bool(plain) and not any(one.isascii() for one in plain)
        return known


_SEPARATE = _Separate()


def has_folded(text: str, literal: str) -> bool:
    """Whether ``literal``, which `folded` returned, is in ``folded(text)``."""
    if text.isascii() or not literal.isascii():
        return literal in folded(text)
    data = text.encode(errors="surrogatepass")
    # Folding a long text takes ten times as long as checking that no character folds to ASCII.
    others = set(data.translate(None, _ASCII).decode(errors="surrogatepass"))
    if all(map(_SEPARATE.__getitem__, others)):
        return literal.encode() in data.lower()
    return literal in folded(text)
