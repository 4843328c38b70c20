"""Find the words of the rules in a text. Most texts contain none of them.

The words are searched one after the other, most of them only in long runs where a token could be.
With the extra ``scan`` installed, hyperscan searches all of them at once and finds the same places.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
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
    slow = one_by_one(in_run, exact, any_case)
    if find_spec("hyperscan") is None:
        return slow
    fast, is_worth_it = at_once((*in_run, *exact), any_case), compiling_pays()

    def scan(text: str, data: bytes | None = None) -> Iterable[WordPlaces]:
        return (fast if is_worth_it(text) else slow)(text, data)

    return scan


# To compile for hyperscan takes as long as to search so many characters without it, and to begin a
# search as long as so many characters take.
_COMPILING, _BEGINNING = 250_000, 250


def compiling_pays() -> Callable[[str], bool]:
    """A function that says for each text whether hyperscan should search it: once there was so
    much text that compiling is worth it. A command that shows a few sessions never gets there."""
    left = _COMPILING

    def pays(text: str) -> bool:
        nonlocal left
        if left > 0:
            left -= len(text) + _BEGINNING
        return left <= 0

    return pays


def finder(slow: FindMarks, fast: FindMarks) -> FindMarks:
    """Both find the same. The second one has to be compiled first."""
    is_worth_it = compiling_pays()

    def find(text: str, data: bytes | None = None) -> list[int]:
        return (fast if is_worth_it(text) else slow)(text, data)

    return find


def one_by_one(in_run: tuple[str, ...], exact: tuple[str, ...], any_case: tuple[str, ...]) -> Scan:
    def scan(text: str, data: bytes | None = None) -> Iterator[WordPlaces]:
        yield from _in_runs(text, in_run)
        for number, word in enumerate(exact, len(in_run)):
            if places := _places(text, word):
                yield number, places
        lowered = _bytes_of(text, data).lower().decode("latin-1")
        for search in searches:
            yield from search(lowered)

    first = len(in_run) + len(exact)
    searches = list(
        _searches(dict(zip(any_case, range(first, first + len(any_case)), strict=True)))
    )
    return scan


# Many words share one of these parts. A search for the part finds all of them.
_SHARED = ("key", "auth", "pass", "pw", " -")
Search = Callable[[str], Iterable[WordPlaces]]


def _searches(numbers: dict[str, int]) -> Iterator[Search]:
    """Functions that together find every place of the words."""
    for part in _SHARED:
        together = [word for word in numbers if part in word]
        if len(together) > 1:
            yield _search_for_part(part, {word: numbers.pop(word) for word in together})
    for word, number in numbers.items():
        yield _search_for_word(word, number)


def _search_for_word(word: str, number: int) -> Search:
    def search(text: str) -> Iterator[WordPlaces]:
        if places := _not_common(word, text, _places(text, word)):
            yield number, places

    return search


def _search_for_part(part: str, numbers: dict[str, int]) -> Search:
    # The character before the part tells which of the words may be here.
    before: dict[str, list[tuple[str, int]]] = {}
    anywhere: list[tuple[str, int]] = []
    for word in numbers:
        offset = word.index(part)
        candidates = before.setdefault(word[offset - 1], []) if offset else anywhere
        candidates.append((word, offset))

    def search(text: str) -> Iterator[WordPlaces]:
        found: dict[str, list[int]] = {}
        for place in _places(text, part):
            for word, offset in (*anywhere, *before.get(text[place - 1 : place], ())):
                if offset <= place and text.startswith(word, place - offset):
                    found.setdefault(word, []).append(place - offset)
        for word in found:
            if places := _not_common(word, text, found[word]):
                yield numbers[word], places

    return search


def _not_common(word: str, text: str, places: list[int]) -> list[int]:
    pattern = _COMMON.get(word)
    return places if pattern is None else [at for at in places if pattern.match(text, at)]


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
    expressions = [
        (number, expression, size)
        for number, word in enumerate((*exact, *any_case))
        for expression, size in _expressions(word, number >= len(exact))
    ]
    # A compiled database has scratch space that only one thread may use.
    own = local()

    def scan(text: str, data: bytes | None = None) -> Iterator[WordPlaces]:
        if not hasattr(own, "database"):
            own.database = _compiled(
                [one[1] for one in expressions], [one[0] >= len(exact) for one in expressions]
            )
        found: defaultdict[int, list[int]] = defaultdict(list)

        def note(index: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            found[index].append(end)

        own.database.scan(_bytes_of(text, data), match_event_handler=note)
        places: dict[int, list[int]] = {}
        for index in sorted(found):
            number, _, size = expressions[index]
            known = places.get(number)
            places[number] = [end - size for end in found[index]]
            if known:
                places[number] = sorted((*known, *places[number]))
        yield from places.items()

    return scan


# Logs count tokens in every record and report tests that passed. So these words are found only
# before other characters: not in tokens, token_count, token_usage, passed, passes and passing.
_AFTER_WORD = {
    "token": (
        *(r"[^s_]", r"_[^cu]", r"_c[^o]", r"_co[^u]", r"_u[^s]", r"_us[^a]"),
        r"s[^\"' :=,.)\\\x60]",
    ),
    "pass": (r"[^ei]",),
}
_COMMON = {
    word: re.compile(rf"{word}(?:{'|'.join(rests)})", re.DOTALL)
    for word, rests in _AFTER_WORD.items()
}


def _expressions(word: str, any_case: bool) -> Iterator[tuple[bytes, int]]:
    """What hyperscan searches for to find a word, and the length of what it finds."""
    if any_case and word in _AFTER_WORD:
        for rest in _AFTER_WORD[word]:
            yield f"{word}{rest}".encode(), len(word) + len(rest.partition("[")[0]) + 1
    else:
        yield _quoted(word), len(word)


def mark_finder(patterns: tuple[str, ...]) -> FindMarks:
    """A function that finds where a text matches one of the patterns."""
    slow = marks_one_by_one(patterns)
    if find_spec("hyperscan") is None:
        return slow
    return finder(slow, marks_at_once(patterns))


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


def _compiled(expressions: list[bytes], any_case: list[bool]) -> Any:
    import hyperscan  # noqa: PLC0415

    return _database(expressions, [hyperscan.HS_FLAG_CASELESS if one else 0 for one in any_case])


def _database(expressions: list[bytes], flags: list[int]) -> Any:
    import hyperscan  # noqa: PLC0415

    database = hyperscan.Database()
    database.compile(expressions=expressions, ids=list(range(len(flags))), flags=flags)
    return database


@cache
def _quoted(word: str) -> bytes:
    return "".join(f"\\x{ord(letter):02x}" for letter in word).encode()
