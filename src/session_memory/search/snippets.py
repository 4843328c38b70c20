"""Cut snippets from texts of hits: the part of a text that shows why it matched."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from session_memory.core.index_words import folded
from session_memory.search.query import Term

LENGTH = 200
BEFORE = 60
# The maximum number of matches that are compared, and of characters that are folded.
PLACES = 500
FOLDED = 200_000
_BLANK = re.compile(r"\s+")
# A whole word has none of these letters beside it. Letters of scripts without spaces between words
# are not among them.
_LETTER = "[0-9a-z\u00e0-\u0dff]"


class Snippet(msgspec.Struct, frozen=True):
    """A piece of a hit's text. ``marks`` are the ranges ``[start, end)`` of ``text`` that match."""

    text: str
    marks: list[tuple[int, int]] = []


def snippet(
    text: str, terms: Sequence[Term], words: Sequence[str] = (), length: int = LENGTH
) -> Snippet:
    """Return about ``length`` characters of the text around the best match, on one line.

    ``words`` are words to mark in addition to the ``terms``.
    """
    pattern = _pattern(terms, words)
    if pattern is None:
        return Snippet(_line(text[: length * 2])[:length])
    start = max(_best_place(pattern, text, length) - BEFORE, 0)
    # Start after a space, if there is one nearby, so that no word is cut.
    blank = text.rfind(" ", max(start - 20, 0), start) if start else -1
    start = blank + 1 if blank >= 0 else start
    end = min(start + length, len(text))
    line = _line(text[start:end])
    shown = f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"
    return Snippet(shown, list(_spans(pattern, shown)))


def _best_place(pattern: re.Pattern[str], text: str, length: int) -> int:
    """Return the place in the text with most different matches close after it."""
    places = [
        (start, text[start:end].lower()) for start, end in islice(_spans(pattern, text), PLACES)
    ]
    best, most = 0, 0
    for at, (start, _) in enumerate(places):
        near = {word for place, word in places[at : at + 50] if place < start + length - BEFORE}
        if len(near) > most:
            best, most = start, len(near)
    return best


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the text that match, without regard to case and accents."""
    found = (match.span() for match in pattern.finditer(text))
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
    elif not text.isascii():
        yield from _folded_spans(pattern, text[:FOLDED])


def _folded_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    pieces, starts, length = [], [], 0
    for char in text:
        piece = folded(char)
        pieces.append(piece)
        starts.append(length)
        length += len(piece)
    for match in pattern.finditer("".join(pieces)):
        yield bisect_right(starts, match.start()) - 1, bisect_right(starts, match.end() - 1)


def _pattern(terms: Sequence[Term], words: Iterable[str]) -> re.Pattern[str] | None:
    patterns = [piece for term in terms if not term.is_negative for piece in _pieces(term)]
    patterns += map(re.escape, words)
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _pieces(term: Term) -> list[str]:
    if term.literal is not None:
        return [re.escape(term.literal)]
    if term.phrase is not None:
        return [r"[\W_]+".join(map(re.escape, term.phrase))]
    if term.is_part:
        return [re.escape(folded(term.shown.strip("*")))]
    return [_word(word.text, word.is_prefix) for word in term.words]


def _word(text: str, is_prefix: bool) -> str:
    end = "" if is_prefix else f"(?!{_LETTER})"
    return rf"(?<!{_LETTER}){re.escape(text)}{end}"


def _line(text: str) -> str:
    return _BLANK.sub(" ", text).strip()
