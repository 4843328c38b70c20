"""Find line breaks inside a secret, where a terminal, editor or mail program broke a long line.

Only breaks that a secret may cross are found: no blank or quote is between the start of the secret
and the break, and the next line starts with a letter or a digit.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.redact.assignments import is_random_run
from session_memory.redact.decoding import visible_size
from session_memory.redact.scan import FindMarks, finder, marks_at_once, marks_one_by_one

_WIDTHS = frozenset((64, 72, 76, 78, 79, 80, 100, 120, 132, 160))
_NARROWEST, _LONGEST_LINE = min(_WIDTHS), 400
_MOST_LINES = 200
_NARROW = 40
_SHORTEST = 8
_SHORT_LINE = 10
# A break in a text, in JSON, or in JSON in JSON. A backslash before it continues a shell command.
# After an indent, only a long run with a digit may be the rest of a secret.
_INDENT = r"(?:[ \t]|\\{1,7}t){1,24}+(?=[\w+/=-]{12})(?=[A-Za-z_+/=-]{0,19}\d)"
_BREAK = rf"(?:(?:\\{{1,7}}r)?\\{{1,8}}n|\\?\r?\n)(?:{_INDENT}|(?=[\w+/=.~%-]))"
_STRETCH = lazy_pattern(rf"[^\s\"'`\\<>|]{{1,{_LONGEST_LINE}}}+(?P<line>{_BREAK})?", re.ASCII)
_LINE = lazy_pattern(rf"(?P<run>[\w+/=.~%:@-]{{1,{_LONGEST_LINE}}}+)(?P<line>{_BREAK})?", re.ASCII)
_TOKEN_START = 16
_BEFORE_TOKENS = tuple(rf"{line}[\w.+-]{{{_TOKEN_START}}}" for line in (r"\\n", r"\n"))
_RUN_START = lazy_pattern(r"[\w.+-]{1,2}", re.ASCII)
_QUOTES = (lazy_pattern('"'), lazy_pattern(r'(?<!\\)"'))


class Break(NamedTuple):
    """The range of a line break.

    ``late``: the line before it is one run of characters and follows another break, so it may be
    the last line of a secret.
    """

    start: int
    end: int
    late: bool


def joins(
    text: str, places: Iterable[int], words: tuple[str, ...], data: bytes, *, escaped: bool = False
) -> list[Break]:
    """Return the line breaks that a secret may cross.

    A secret may start at each of ``places``, or at a break inside one of ``words``. ``data`` is the
    text as bytes. ``escaped``: only breaks that are escaped in JSON.
    """
    found: dict[int, int] = {}
    stretch_at, searched = _STRETCH.match, 0
    for place in sorted(places):
        if place < searched:
            continue
        stretch = stretch_at(text, place)
        if stretch is not None:
            searched = stretch.end()
            start = stretch.start("line")
            if start >= 0 and not (escaped and "\n" in text[start:searched]):
                _add_chain(text, start, searched, start - place, found, escaped)
    for start, end in breaks_inside_words(text, words, data):
        if not (escaped and "\n" in text[start:end]):
            _add_chain(text, start, end, 0, found, escaped)
    return list(_with_lines_between(text, sorted(found.items())))


def _with_lines_between(text: str, found: list[tuple[int, int]]) -> Iterator[Break]:
    last = -1
    for end, start in found:
        line = _LINE.match(text, last) if 0 < last < start <= last + _LONGEST_LINE else None
        yield Break(start, end, late=line is not None and line.end("run") == start)
        last = end


def _add_chain(
    text: str, start: int, end: int, size: int, found: dict[int, int], escaped: bool
) -> None:
    """Add the break from ``start`` to ``end``, and those after it while each line is one long run.

    ``size`` is the length of the part before the break.
    """
    for _ in range(_MOST_LINES):
        following = _LINE.match(text, end) if end not in found else None
        if following is None:
            return
        width = following.end(1) - end
        size += width
        if size < _SHORTEST or (width < _SHORT_LINE and _is_after_short_line(text, start)):
            return
        found[end] = start
        start, end = following.span("line")
        # Only the last line of a secret is shorter than the others.
        if start < 0 or width < _NARROW or (escaped and "\n" in text[start:end]):
            return


def _is_after_short_line(text: str, start: int) -> bool:
    """Whether another break is just before the one at ``start``. Nothing wraps such short lines."""
    first = max(start - _SHORT_LINE, 0)
    return text.find("\n", first, start) >= 0 or text.find("\\n", first, start) >= 0


def is_indented(text: str, line: Break) -> bool:
    return text[line.end - 1] in " \tt"


def is_sure(text: str, line: Break) -> bool:
    """Whether a line very likely continues after the break: it has a usual width, or the next one
    starts with random characters."""
    after = _LINE.match(text, line.end)
    if after is not None and is_random_run(after["run"]):
        return True
    before = text[max(line.start - _LONGEST_LINE, 0) : line.start]
    return not _WIDTHS.isdisjoint(_widths(before, line.start))


def _widths(before: str, end: int) -> Iterator[int]:
    """The possible widths of a line: it starts after a break, or after the quote of a string."""
    broken = max(before.rfind("\n") + 1, before.rfind("\\n") + 2)
    line = before[broken:] if broken > 1 else before
    if broken > 1 or len(before) == end:
        yield visible_size(line)
    for quote in _QUOTES:
        parts = quote.split(line)
        if len(parts) > 1 and len(parts[-1]) >= _NARROWEST:
            yield visible_size(parts[-1])


def breaks_inside_words(
    text: str, words: tuple[str, ...], data: bytes
) -> Iterator[tuple[int, int]]:
    """Yield the line breaks inside a word of a rule that the rest of a token follows."""
    rests = _rests(words)
    for found in _long_runs(words)(text, data):
        end = found - _TOKEN_START
        start = break_start(text, end)
        before, after = text[max(start - 16, 0) : start], text[end:found]
        beginnings = rests.get(before[-1:])
        if beginnings is not None and any(
            after.startswith(beginnings.get(before[-size:], ())) for size in range(1, 16)
        ):
            yield start, end


@cache
def _long_runs(words: tuple[str, ...]) -> FindMarks:
    """Return a function that finds long runs after a break that may begin with a word's rest."""
    slow = marks_one_by_one(_BEFORE_TOKENS)
    if find_spec("hyperscan") is None:
        return slow
    # Hyperscan takes half of the time if it knows how the runs start.
    starts = {word[size : size + 2] for word in words for size in range(1, len(word))}
    runs = [start for start in sorted(starts) if _RUN_START.fullmatch(start)]
    firsts = "|".join(re.escape(run) + r"[\w.+-]" * (2 - len(run)) for run in runs)
    rest = rf"(?:{firsts})[\w.+-]{{{_TOKEN_START - 2}}}"
    return finder(slow, marks_at_once((rf"\\n{rest}", rf"\n{rest}")))


def break_start(text: str, end: int) -> int:
    """Where the break that ends at ``end`` starts: before its backslashes and its ``\\r``."""
    near = text[max(end - 16, 0) : end]
    before = near[:-1].rstrip("\\\r")
    if before.endswith("\\r"):
        before = before[:-2].rstrip("\\")
    return end - len(near) + len(before)


@cache
def _rests(words: tuple[str, ...]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Map each beginning of a word to the rests that may follow it, grouped by its last letter."""
    rests: dict[str, dict[str, tuple[str, ...]]] = {}
    for word in words:
        for size in range(1, len(word)):
            beginnings = rests.setdefault(word[size - 1], {})
            beginnings[word[:size]] = (*beginnings.get(word[:size], ()), word[size:])
    return rests
