"""The lengths to which a native session id is cut for a short name.

This module imports nothing, because a hook uses it and must start quickly.
"""

SHORTEST = 8
# Ids that begin with a time differ only after many characters. A UUID is cut at its dashes.
_LENGTHS = (SHORTEST, 13, 18, 23, 28)
# If the word in front has fewer letters than this, its letters count. The letters of a longer word,
# such as `session_`, do not count: they would fill the short name alone.
_LONG_WORD = SHORTEST // 2


def short_lengths(native: str) -> tuple[int, ...]:
    """Return the lengths to which ``native`` may be cut, shortest first.

    A word in front, such as ``session_``, is kept and does not count, because all ids of an agent
    have the same word. So the shortest name is ``session_4f0c12ab`` and not ``session_``.
    """
    word, underscore, _ = native.partition("_")
    if not underscore or not word.isalpha() or len(word) < _LONG_WORD:
        return _LENGTHS
    return tuple(len(word) + 1 + length for length in _LENGTHS)
