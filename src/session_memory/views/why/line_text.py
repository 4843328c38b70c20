"""Compare lines without what a formatter changes, so that the same line is found again."""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property, lru_cache

from session_memory.core.lazy_patterns import lazy_pattern

_WORDS = lazy_pattern(r"\w+")
_CHANGED_BY_FORMATTERS = str.maketrans({"'": '"', "`": '"', ";": None, ",": None})
_FEWEST_LETTERS = 6
_LONG = 16
_MOST_KEPT = 20_000
_IMPORT = lazy_pattern(r"\s*(?:import|from|use|using|package|#\s*include)\b|.*\brequire\(")
_BRACKETS = lazy_pattern(r"[(){}\[\]]")


@lru_cache(maxsize=_MOST_KEPT)
def squeezed(text: str) -> str:
    """Return a line without white space, commas and semicolons, and with one sort of quotes."""
    return "".join(text.translate(_CHANGED_BY_FORMATTERS).split())


def without_brackets(text: str) -> str:
    """Remove the brackets from a squeezed text: a formatter adds them when it splits a line."""
    return _BRACKETS.sub("", text)


class RareLines:
    """The lines of a text that can be recognized alone: each occurs once and has enough letters,
    unlike a bracket or a short word. The lines are counted when that is first needed."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines

    def __contains__(self, text: str) -> bool:
        return _says_something(text) and self._counts[squeezed(text)] <= 1

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(map(squeezed, self._lines))


def is_import(text: str) -> bool:
    """Whether a line only names a module, as lines of many files do."""
    return _IMPORT.match(text) is not None


def is_long(text: str) -> bool:
    """Whether a line is so long that hardly anybody writes the same one by chance."""
    return _letters(text) >= _LONG


def _says_something(text: str) -> bool:
    return _letters(text) >= _FEWEST_LETTERS


def _letters(text: str) -> int:
    return sum(map(len, _WORDS.findall(text)))
