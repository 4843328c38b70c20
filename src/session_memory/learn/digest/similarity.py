"""Compare two texts by the share of words that both contain."""

import re

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FILLERS = """
    a an and are as at be but by can could do does for from had has have i if in into is it its
    just me my now of on one or our please should so some that the their them then there these
    they this to up was we were what when which will with would you your
"""
_EMPTY = frozenset(_FILLERS.split())


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without fillers ("the") and endings ("ing")."""
    found = (word.lower().replace("’", "'") for word in _WORD.findall(text[:2000]))
    return frozenset(_stem(word) for word in found if word not in _EMPTY)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def word_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how many of the different words of both texts occur in both, as a share: 0 to 1."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
