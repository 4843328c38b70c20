"""How much of a native id a short name shows. Imports nothing: a hook uses it, too."""

SHORTEST = 8
# Ids that begin with the time differ late; a UUID is cut at its dashes.
_LENGTHS = (SHORTEST, 13, 18, 23, 28)
# A longer word in front, such as `session_`, would be all of a short name.
_LONGEST_PREFIX = SHORTEST // 2


def short_lengths(native: str) -> tuple[int, ...]:
    """The lengths to try, the shortest first. A word that all ids of an agent begin with comes on
    top: ``session_4f0c12ab`` and not ``session_``."""
    word, underscore, _ = native.partition("_")
    if not underscore or not word.isalpha() or len(word) < _LONGEST_PREFIX:
        return _LENGTHS
    return tuple(len(word) + 1 + length for length in _LENGTHS)
