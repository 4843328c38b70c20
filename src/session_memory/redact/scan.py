"""Find the words of the rules in a text. Most texts contain none of them.

The words are searched one after the other. With the extra ``scan`` installed, hyperscan searches
all of them at once and finds the same places.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from threading import local
from typing import Any, Protocol

WordPlaces = tuple[int, list[int]]
"""The number of a word and its places, in order."""


class Scan(Protocol):
    """A function that finds the words in a text.

    ``data``: the text as bytes, if the caller has it.
    """

    def __call__(self, text: str, data: bytes | None = None) -> Iterable[WordPlaces]: ...


class FindMarks(Protocol):
    """A function that finds the places in a text, in any order, where a pattern ends."""

    def __call__(self, text: str, data: bytes | None = None) -> list[int]: ...


def scanner(exact: tuple[str, ...], any_case: tuple[str, ...]) -> Scan:
    """Return a function that finds every place of the words: exact ones, and those in any case.

    A word's number is its index in both tuples together.
    """
    slow = one_by_one(exact, any_case)
    if find_spec("hyperscan") is None:
        return slow
    fast, is_worth_it = at_once(exact, any_case), compiling_pays()

    def scan(text: str, data: bytes | None = None) -> Iterable[WordPlaces]:
        return (fast if is_worth_it(text) else slow)(text, data)

    return scan


# Compiling for hyperscan takes as long as searching this many characters without it. Beginning a
# search takes as long as searching this many.
_COMPILING, _BEGINNING = 250_000, 250


def compiling_pays() -> Callable[[str], bool]:
    """Return a function that says for each text whether hyperscan should search it.

    The function returns True once it was given so much text that compiling for hyperscan is worth
    the time. A command that shows a few sessions never has so much text.
    """
    left = _COMPILING

    def pays(text: str) -> bool:
        nonlocal left
        if left > 0:
            left -= len(text) + _BEGINNING
        return left <= 0

    return pays


def finder(slow: FindMarks, fast: FindMarks) -> FindMarks:
    """Return a function that uses ``slow`` first, and ``fast`` when compiling it is worth it.

    Both find the same places.
    """
    is_worth_it = compiling_pays()

    def find(text: str, data: bytes | None = None) -> list[int]:
        return (fast if is_worth_it(text) else slow)(text, data)

    return find


def one_by_one(exact: tuple[str, ...], any_case: tuple[str, ...]) -> Scan:
    as_written = list(_searches(exact, 0, _SHARED_EXACT))
    in_lower_case = list(_searches(any_case, len(exact), _SHARED))

    def scan(text: str, data: bytes | None = None) -> Iterator[WordPlaces]:
        for search in as_written:
            yield from search(text)
        lowered = _bytes_of(text, data).lower().decode("latin-1")
        for search in in_lower_case:
            yield from search(lowered)

    return scan


# Many words share one of these parts. A search for the part finds all of them.
_SHARED = ("key", "auth", "pass", "pw", " -")
_SHARED_EXACT = ("eyJ", "sk-", "xox", "shp", "gl", "hv", "_live_", "_test_", "key-", "sntry")
Search = Callable[[str], Iterable[WordPlaces]]


def _searches(words: tuple[str, ...], first: int, shared: tuple[str, ...]) -> Iterator[Search]:
    """Functions that together find every place of the words. ``first``: number of the first one."""
    numbers = {word: number for number, word in enumerate(words, first)}
    for part in shared:
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
    """Yield the expressions by which hyperscan finds a word, each with the length of its match."""
    if any_case and word in _AFTER_WORD:
        for rest in _AFTER_WORD[word]:
            yield f"{word}{rest}".encode(), len(word) + len(rest.partition("[")[0]) + 1
    else:
        yield _quoted(word), len(word)


def mark_finder(patterns: tuple[str, ...]) -> FindMarks:
    """Return a function that finds where a text matches one of the patterns."""
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
