"""Words of people: whether they tell how to work, and how much two texts have in common."""

import re

# "never commit without asking", "use uv, not pip": what a person wants every time.
_DIRECTIVE = re.compile(
    r"""\b(?: don['’]?t | do\ not | never | always | please\ (?:stop|use|don['’]?t) | stop\ \w+ing
      | use\ .{1,40}\b(?:not|instead) | instead\ of | must\ (?:not)? | make\ sure
      | i\ (?:told|said|asked) | as\ i\ said | remember\ (?:to|that) | again[,:]
      | no[,.]\ (?:use|not|don['’]?t|you) )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FILLERS = """
    a an and are as at be but by can could do does for from had has have i if in into is it its
    just me my now of on one or our please should so some that the their them then there these
    they this to up was we were what when which will with would you your
"""
_EMPTY = frozenset(_FILLERS.split())
_DIRECTIVE_LENGTH = 300


def is_directive(text: str) -> bool:
    """Whether a prompt tells how to work rather than what to do."""
    return len(text) <= _DIRECTIVE_LENGTH and _DIRECTIVE.search(text) is not None


def telling_words(text: str) -> frozenset[str]:
    """The words that carry the meaning, without endings that do not."""
    found = (word.lower().replace("’", "'") for word in _WORD.findall(text[:2000]))
    return frozenset(_stem(word) for word in found if word not in _EMPTY)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in common, of all words of both: 0 to 1."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
