"""Find the words of the rules in a text. Most texts contain none of them.

The words are searched one after the other, most of them only in long runs where a token could be.
With the extra ``scan`` installed, hyperscan searches all of them at once and finds the same places.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from threading import local
from typing import Any, Protocol

WordPlaces = tuple[int, list[int]]
"""The number of a word and its places, in order."""


class Scan(Protocol):
    """Finds the words in a text. ``data`` is the text as bytes, if the caller has it."""

    def __call__(self, text: str, data: bytes | None = None) -> Iterable[WordPlaces]: ...


class FindMarks(Protocol):
    """Finds the places in a text, in any order, where a pattern ends."""

    def __call__(self, text: str, data: bytes | None = None) -> list[int]: ...


# The shortest token with a prefix is an AWS key id, with RUN characters. A part of a token that is
# before the run has at most MARGIN characters.
RUN = 20
MARGIN = 16
_RUN_SIGNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_CLASSES = bytes(120 if byte in _RUN_SIGNS else 32 for byte in range(256))


def scanner(in_run: tuple[str, ...], exact: tuple[str, ...], any_case: tuple[str, ...]) -> Scan:
    """A function that yields every place of a word, with the word's index in all three tuples."""
    if find_spec("hyperscan") is not None:
        return at_once((*in_run, *exact), any_case)
    return one_by_one(in_run, exact, any_case)


def one_by_one(in_run: tuple[str, ...], exact: tuple[str, ...], any_case: tuple[str, ...]) -> Scan:
    def scan(text: str, data: bytes | None = None) -> Iterator[WordPlaces]:
        yield from _in_runs(text, in_run)
        for number, word in enumerate(exact, len(in_run)):
            if places := _places(text, word):
                yield number, places
        lowered = _bytes_of(text, data).lower().decode("latin-1")
        for number, word in enumerate(any_case, len(in_run) + len(exact)):
            if places := _places(lowered, word):
                yield number, places

    return scan


def _in_runs(text: str, words: tuple[str, ...]) -> Iterator[WordPlaces]:
    """Search the words only in the long runs, joined to one text: a small part of most texts."""
    starts, firsts, parts, size = [], [], [], 0
    for start, end in _runs(text):
        starts.append(start)
        firsts.append(size)
        parts.append(text[start:end])
        size += end - start + 1
    laid = "\n".join(parts)
    for number, word in enumerate(words):
        places = []
        for place in _places(laid, word):
            part = bisect_right(firsts, place) - 1
            places.append(starts[part] + place - firsts[part])
        if places:
            yield number, places


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each part to search: a run of `RUN` or more word characters, with a margin.

    The margin is the text before the run. Parts do not overlap.
    """
    classes = text.encode("latin-1").translate(_CLASSES)
    run, done = b"x" * RUN, 0
    place = classes.find(run)
    while place >= 0:
        end = classes.find(b" ", place + RUN)
        end = len(classes) if end < 0 else end
        yield max(place - MARGIN, done), end
        done = end
        place = classes.find(run, end)


def _places(text: str, word: str) -> list[int]:
    places = []
    place = text.find(word)
    while place >= 0:
        places.append(place)
        place = text.find(word, place + 1)
    return places


def at_once(exact: tuple[str, ...], any_case: tuple[str, ...]) -> Scan:
    sizes = [len(word) for word in (*exact, *any_case)]
    # A compiled database has scratch space that only one thread may use.
    own = local()

    def scan(text: str, data: bytes | None = None) -> Iterator[WordPlaces]:
        if not hasattr(own, "database"):
            own.database = _compiled(exact, any_case)
        found: list[list[int]] = [[] for _ in sizes]

        def note(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            found[number].append(end)

        own.database.scan(_bytes_of(text, data), match_event_handler=note)
        for number, ends in enumerate(found):
            if ends:
                size = sizes[number]
                yield number, [end - size for end in ends]

    return scan


def mark_finder(patterns: tuple[str, ...]) -> FindMarks:
    """A function that finds where a text matches one of the patterns."""
    if find_spec("hyperscan") is not None:
        return marks_at_once(patterns)
    return marks_one_by_one(patterns)


def marks_one_by_one(patterns: tuple[str, ...]) -> FindMarks:
    # One pattern after the other: each begins with letters that are found much faster than an
    # alternative of all patterns.
    compiled = [re.compile(pattern, re.ASCII) for pattern in patterns]

    def find(text: str, data: bytes | None = None) -> list[int]:
        return [match.end() for pattern in compiled for match in pattern.finditer(text)]

    return find


def marks_at_once(patterns: tuple[str, ...]) -> FindMarks:
    own = local()

    def find(text: str, data: bytes | None = None) -> list[int]:
        if not hasattr(own, "database"):
            own.database = _database([one.encode() for one in patterns], [0] * len(patterns))
        ends: list[int] = []

        def note(_number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            ends.append(end)

        own.database.scan(_bytes_of(text, data), match_event_handler=note)
        return ends

    return find


def _bytes_of(text: str, data: bytes | None) -> bytes:
    return text.encode("latin-1") if data is None else data


def _compiled(exact: tuple[str, ...], any_case: tuple[str, ...]) -> Any:
    import hyperscan  # noqa: PLC0415

    expressions = [_quoted(word) for word in (*exact, *any_case)]
    flags = [0] * len(exact) + [hyperscan.HS_FLAG_CASELESS] * len(any_case)
    return _database(expressions, flags)


def _database(expressions: list[bytes], flags: list[int]) -> Any:
    import hyperscan  # noqa: PLC0415

    database = hyperscan.Database()
    database.compile(expressions=expressions, ids=list(range(len(flags))), flags=flags)
    return database


@cache
def _quoted(word: str) -> bytes:
    return "".join(f"\\x{ord(letter):02x}" for letter in word).encode()
