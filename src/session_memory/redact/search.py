"""Find the secrets of a text, also where colours, escapes or line breaks hide them from the rules.

The rules search the text itself first. Around every place where a view of the text differs from it,
they search the views as well. What they find there is translated to positions of the text.
"""

import re
import string
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from session_memory.redact.decoding import View, views
from session_memory.redact.detection import (
    AROUND_RANKS,
    MASK,
    TOKEN_WORDS,
    RuleMatch,
    Secret,
    hits,
    marks,
)
from session_memory.redact.wrapping import Break, is_indented, is_sure, joins

# A view covers this many characters before and after a mark, and the whole runs of characters that
# may be a token. If it shows a private key, it is made again with more text.
AROUND = 512
_BESIDE = 64
_BLOCK = 256
_LONGEST_RUN = 16 * 1024
_AROUND_KEYS = 32 * 1024
# A longer view is made in parts, which overlap by the longest key.
_LONGEST_VIEW = 512 * 1024
_RUN_SIGNS = string.ascii_letters + string.digits + "_+/=.~%-"
_RUN = re.compile(rf"[\w+/=.~%-]{{0,{_LONGEST_RUN}}}+", re.ASCII)
_KEY_WORD = "PRIVATE KEY"


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text whose characters are bytes, in order, without overlaps."""
    return find_at_most(text, None) or []


def find_at_most(text: str, most: int | None, *, lines_apart: bool = False) -> list[Secret] | None:
    """Return the secrets of a text, or None if the rules match more than ``most`` times.

    With ``lines_apart`` no secret is searched for across two lines, except for private keys.
    """
    starts: list[int] = []
    data = text.encode("latin-1")
    own = hits(text, starts, data, most)
    found = list(own)
    for more in (_hidden(text, data, most), _wrapped(text, starts, own, data, lines_apart)):
        if most is not None and len(found) > most:
            return None
        found += islice(more, None if most is None else most + 1)
    if most is not None and len(found) > most:
        return None
    if not found:
        return []
    found.sort(key=lambda hit: (hit.start, -hit.end))
    merged: list[RuleMatch] = []
    for hit in found:
        if merged and hit.start < merged[-1].end:
            merged[-1] = _union(merged[-1], hit)
        else:
            merged.append(hit)
    return [Secret(hit.start, hit.end, hit.kind, hit.genuine) for hit in merged]


def _union(one: RuleMatch, other: RuleMatch) -> RuleMatch:
    """The union of both ranges, with the kind of the better rule."""
    better = min(one, other, key=lambda hit: hit.rank)
    start, end = min(one.start, other.start), max(one.end, other.end)
    return RuleMatch(start, end, better.rank, better.kind, better.genuine)


def _hidden(text: str, data: bytes, most: int | None) -> Iterator[RuleMatch]:
    """Yield what the rules match in the views of the text."""
    for start, end in ranges_around(text, marks(text, data), _LONGEST_VIEW):
        yield from _in_views(text, start, end, most, wide=False)


def _in_views(
    text: str, start: int, end: int, most: int | None, *, wide: bool
) -> Iterator[RuleMatch]:
    for view in views(text[start:end], start):
        if not wide and _KEY_WORD in view.text:
            start, end = max(start - _AROUND_KEYS, 0), min(end + _AROUND_KEYS, len(text))
            yield from _in_views(text, start, end, most, wide=True)
            return
        for hit in hits(view.text, most=most):
            # A hit at the edge of a view may be a part of something longer.
            if (hit.start or not start) and (hit.end < len(view.text) or end == len(text)):
                yield from _translated(text, view, hit)


def _translated(text: str, view: View, hit: RuleMatch) -> Iterator[RuleMatch]:
    start, end = view.original(hit.start, hit.end)
    before = text[max(start - 64, 0) : start]
    ahead = before.rstrip("\\")
    # After ESC itself, which JSON does not contain, a backslash is the end of a sequence.
    if (len(before) - len(ahead)) % 2 and not ahead.endswith("\x1b"):
        if text[start] != "\\":
            return
        # The mask must not begin in the middle of an escape.
        start -= 1
    if MASK not in text[start:end]:
        yield RuleMatch(start, end, hit.rank, hit.kind, hit.genuine)


def _wrapped(
    text: str, starts: list[int], own: list[RuleMatch], data: bytes, lines_apart: bool
) -> Iterator[RuleMatch]:
    """Yield secrets that continue on the next line, where a terminal or editor broke a long
    line."""
    breaks = joins(text, starts, TOKEN_WORDS, data, escaped=lines_apart)
    if not breaks:
        return
    complete = {(hit.start, hit.end) for hit in own}
    for start, end in ranges_around(text, [one.start for one in breaks]):
        inside = breaks[bisect_left(breaks, (start,)) : bisect_left(breaks, (end,))]
        # The line before the last break of a chain may be the last line of a secret. So the rules
        # search without these breaks first, and what they find is complete.
        chains = zip(inside, [*inside[1:], None], strict=True)
        fewer = [one for one, after in chains if not one.late or (after and after.late)]
        for breaks_joined in (fewer, inside) if len(fewer) < len(inside) else (inside,):
            found = list(_across(text, (start, end), breaks_joined, complete))
            complete.update((hit.start, hit.end) for hit in found)
            yield from found


def _across(
    text: str, window: tuple[int, int], breaks: list[Break], complete: set[tuple[int, int]]
) -> Iterator[RuleMatch]:
    """The secrets that continue after a line break.

    The rules search the window with ``breaks`` removed. Only matches across a removed break count.
    """
    start, end = window
    view = View(text[start:end], start).without(
        [(one.start - start, one.end - start) for one in breaks]
    )
    for hit in hits(view.text):
        first, last = view.original(hit.start, hit.end)
        crossed = breaks[bisect_left(breaks, (first + 1,)) : bisect_left(breaks, (last,))]
        if not crossed or (hit.rank in AROUND_RANKS and _is_word(text, first, crossed, last)):
            continue
        # Code and lists are indented, too. So a secret that is known only by the text around it
        # does not continue on an indented line.
        if hit.rank in AROUND_RANKS and any(is_indented(text, one) for one in crossed):
            continue
        # A secret that is complete before a break ends there, unless the line surely continues.
        ends = (one for one in crossed if (first, one.start) in complete)
        if all(is_sure(text, one) for one in ends):
            yield from _translated(text, view, hit)


def _is_word(text: str, start: int, crossed: list[Break], end: int) -> bool:
    """Whether the text before the first break, or after the last one, is a word, a number or a
    path. Then the value most likely ends with its line."""
    parts = text[start : crossed[0].start], text[crossed[-1].end : end]
    return any(
        part.isdigit() or (part.islower() and part.isalpha()) or "/" in part[1:] for part in parts
    )


def ranges_around(
    text: str, places: list[int], longest: int | None = None
) -> Iterator[tuple[int, int]]:
    """Ranges of a text with all places, `AROUND` characters on both sides, and whole tokens.

    They do not overlap, except for the parts of a range that is longer than ``longest``.
    """
    start = end = -1
    # Hostile texts have a mark at every character.
    for block in sorted({place // _BLOCK for place in places}):
        first = max(block * _BLOCK - AROUND, 0)
        if end < 0:
            start = _run_start(text, first)
        elif first > end:
            end = _run_end(text, end)
            first = _run_start(text, first)
            if first > end:
                yield from _parts(start, end, longest)
                start = first
        end = max(end, min((block + 1) * _BLOCK + AROUND, len(text)))
    if end >= 0:
        yield from _parts(start, _run_end(text, end), longest)


def _run_start(text: str, place: int) -> int:
    before = text[max(place - _LONGEST_RUN, 0) : place]
    return max(place - len(before) + len(before.rstrip(_RUN_SIGNS)) - _BESIDE, 0)


def _run_end(text: str, place: int) -> int:
    run = _RUN.match(text, place)
    return min(run.end() + _BESIDE if run is not None else place, len(text))


def _parts(start: int, end: int, longest: int | None) -> Iterator[tuple[int, int]]:
    while longest is not None and end - start > longest:
        yield start, start + longest
        start += longest - _AROUND_KEYS
    yield start, end
