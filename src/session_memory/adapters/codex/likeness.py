"""Compare two texts by short sketches of them, to tell whether they are nearly the same.

A log of Codex has each message twice, and one copy may lack a part. The second copy is not shown.
So two different texts must never count as copies, or a log could hide a text that way.
"""

from zlib import crc32

LOOKED_AT = 4000
_KEPT = 16
# `str.split` splits at these characters, `bytes.split` does not.
_GAPS_OF_TEXT = "\x1c\x1d\x1e\x1f"


def sketch_of(text: str) -> str:
    """Return the sketch of a text: the smallest hashes of its words, as a text.

    The placeholder of an image (``[image]``) has no words, so its sketch is empty.
    """
    if text.startswith("[") and text.endswith("]") and not any(map(str.isspace, text)):
        return ""
    words = {hashed % 0xFFFFFF for hashed in map(crc32, _words(text[:LOOKED_AT]))}
    return ",".join(map(str, sorted(words)[:_KEPT]))


def _words(text: str) -> set[bytes]:
    if text.isascii() and not any(map(text.__contains__, _GAPS_OF_TEXT)):
        return set(text.encode().split())
    return {word.encode("utf-8", "surrogatepass") for word in text.split()}


def are_alike(one: str, other: str) -> bool:
    """Whether one text has most of the words of the other. ``one`` and ``other`` are sketches; an
    empty sketch is like every text."""
    if not (one and other):
        return True
    first, second = ([int(word) for word in sketch.split(",")] for sketch in (one, other))
    return _share(first, second) > 0.5 or _share(second, first) > 0.5


def _share(words: list[int], others: list[int]) -> float:
    """Return the share of the hashes in ``words`` that the other sketch has.

    A full sketch has only the smallest hashes of its text. So hashes above its largest are not
    counted.
    """
    end = others[-1] if len(others) == _KEPT else max(words[-1], others[-1])
    asked = [word for word in words if word <= end]
    return len(set(asked).intersection(others)) / len(asked) if asked else 0.0
