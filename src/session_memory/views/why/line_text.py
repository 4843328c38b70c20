"""Lines without what a formatter changes, so that the same line is found again."""

import re
from collections import Counter
from collections.abc import Iterable

_WORDS = re.compile(r"\w+")
_CHANGED_BY_FORMATTERS = str.maketrans({"'": '"', "`": '"', ";": None, ",": None})
_FEWEST_LETTERS = 6
_BRACKETS = re.compile(r"[(){}\[\]]")


def squeezed(text: str) -> str:
    """The line without white space, with one sort of quotes, without commas and semicolons."""
    return "".join(text.translate(_CHANGED_BY_FORMATTERS).split())


def without_brackets(text: str) -> str:
    """A squeezed text without brackets: a formatter adds them when it splits a line."""
    return _BRACKETS.sub("", text)


class RareLines:
    """Which lines of a text can be known again alone: they are there once and are no bracket or
    single word."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._counts = Counter(map(squeezed, lines))

    def __contains__(self, text: str) -> bool:
        return self._counts[squeezed(text)] <= 1 and _says_something(text)


def _says_something(text: str) -> bool:
    return sum(map(len, _WORDS.findall(text))) >= _FEWEST_LETTERS
