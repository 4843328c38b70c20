"""Make views of a text as a reader sees it: without escapes, colours and invisible characters.

An escape inside of a secret, or a colour code before a secret, can hide the secret from the rules.
So the rules search the views, too. A view knows where each of its characters is in the original
text, so that the mask covers the original characters.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern

Instead = Callable[[re.Match[str]], str]
"""A function that returns the text that a view has in place of a match."""


class Edit(NamedTuple):
    """The characters ``start`` to ``end`` of a text became ``size`` characters of its view."""

    start: int
    end: int
    size: int


class View:
    """A changed copy of a text. Positions in it can be translated to the original text."""

    def __init__(
        self, text: str, parent: "View | int" = 0, edits: Callable[[], list[Edit]] = list
    ) -> None:
        self.text = text
        # The view that this one was made from, or the offset of an unchanged text.
        self._parent = parent
        self._edits = edits

    def replace(self, pattern: re.Pattern[str], instead: Instead | str) -> "View":
        """The view with every match replaced. Without a match, this view itself."""
        text, count = pattern.subn(instead, self.text)
        if not count or text == self.text:
            return self

        def edits() -> list[Edit]:
            # Most views contain no secret, so positions are computed only when needed.
            matches = pattern.finditer(self.text)
            if isinstance(instead, str):
                return [Edit(*match.span(), len(instead)) for match in matches]
            return [Edit(*match.span(), len(instead(match))) for match in matches]

        return View(text, self, edits)

    def without(self, spans: list[tuple[int, int]]) -> "View":
        """The view without these ranges."""
        parts, last = [], 0
        for start, end in spans:
            parts.append(self.text[last:start])
            last = end
        parts.append(self.text[last:])
        return View("".join(parts), self, lambda: [Edit(*span, 0) for span in spans])

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original text that ``start`` to ``end`` came from. Not for an empty
        range."""
        if isinstance(self._parent, int):
            return start + self._parent, end + self._parent
        first, last = self._before(start)[0], self._before(end - 1)[1]
        return self._parent.original(first, last)

    def _before(self, place: int) -> tuple[int, int]:
        """The range of the parent that the character at ``place`` came from."""
        edits, starts = self._placed
        number = bisect_right(starts, place) - 1
        if number < 0:
            return place, place + 1
        edit, first = edits[number], starts[number]
        if place < first + edit.size:
            return edit.start, edit.end
        parent = edit.end + place - first - edit.size
        return parent, parent + 1

    @cached_property
    def _placed(self) -> tuple[list[Edit], list[int]]:
        edits, starts, shift = self._edits(), [], 0
        for edit in edits:
            starts.append(edit.start + shift)
            shift += edit.size - (edit.end - edit.start)
        return edits, starts


# ------------------------------------------------------------ escapes

# Characters that take no room, as UTF-8: soft hyphen, zero-width ones, overrides of the direction,
# variation selectors, tags.
_INVISIBLE = (
    r"(?<=\xc2)\xad|(?<=\xcd)\x8f|(?<=\xe1)\xa0[\x8b-\x8f]"
    r"|(?<=\xe2)(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])"
    r"|(?<=\xef)(?:\xb8[\x80-\x8f]|\xbb\xbf)|(?<=\xf3)\xa0[\x80\x81][\x80-\xbf]"
)
_INVISIBLE_CODES = frozenset(
    [0xAD, 0x34F, *range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F)]
    + [*range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF]
)
# Escapes of JSON and of programming languages. In the patterns below, the first character is one
# literal or one set, because Python searches for that much faster than for alternatives.
_ESCAPES = lazy_pattern(
    r"\\(?:(?P<more>\\{0,3})u001[bB](?:\\(?P=more)){2}(?P<end>)|\\{0,7}(?:u([0-9a-fA-F]{4})"
    r"|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,5})\}|(?P<slash>/)|(?P<octal>033|e(?=\[))"
    r"|(?P<digits>[01][0-7]{2})))",
    re.ASCII,
)
# Entities of HTML, and the ways to write ESC.
_SPELLED = lazy_pattern(
    r"[&^E\xe2\xc2](?:(?<=&)(?:(?P<name>amp|quot|apos)|#(?P<decimal>\d{2,5})"
    r"|#[xX]([0-9a-fA-F]{2,4}));"
    r"|(?P<escape>(?<=\^)\[(?=\[)|(?<=E)SC(?=\[[\d;?]{0,20}[A-Za-z])"
    r"|(?<=\xe2)\x90\x9b|(?<=\xc2)\x9b))",
    re.ASCII,
)
# A character that is printed over itself is bold.
_STRUCK = lazy_pattern(r"(?<=([ -\[\]-~]))\\{1,8}b(?=\1)", re.ASCII)
# ESC and a backslash end the text of a link, as the bell does.
_SIGNS = {"slash": "/", "octal": "\x1b", "end": "\a"}
_OTHERS = {0x9B: "\x1b[", 0x241B: "\x1b"}
_NAMES = {"amp": "&", "quot": '"', "apos": "'"}
_PERCENT = lazy_pattern(r"%([2-7][0-9A-Fa-f])", re.ASCII)
# An escaped backslash may be the beginning of another escape.
_MOST_DECODINGS = 3


def _decoded(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind in _SIGNS:
        return _SIGNS[kind]
    if kind == "escape":
        return "\x1b[" if match[0] == "\xc2\x9b" else "\x1b"
    if kind == "name":
        return _NAMES[match["name"]]
    base = {"decimal": 10, "digits": 8}.get(kind or "", 16)
    code = int(match[match.lastindex or 0], base)
    if 8 <= code < 127:
        return chr(code)
    if code < 8 or code == 127 or code in _INVISIBLE_CODES:
        return "\0"
    return _OTHERS.get(code, match[0])


def _from_percent(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


# ------------------------------------------------------------ escape sequences of terminals

_PARAMETERS = r"\[[0-?]{0,40}+[ !#-/]{0,2}+"
_STRING = r"[\]P_^Xk]"
_SIMPLE = r"[()*+./-][A-Za-z0-9]|[78=>]"
_CONTROL = r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]"
# What a view leaves out besides sequences: colours whose ESC an earlier program removed, the second
# of two characters printed over each other, controls, and characters that take no room.
_OTHERS_UNSEEN = (
    r"(?<=\[)\d{1,3}(?:;\d{1,3}){0,5}m|(?<=([ -~])\x08)\1"
    rf"|(?<={_CONTROL}){_CONTROL}*+|{_INVISIBLE}"
)
_FIRST = r"[\x00-\x08\x0e-\x1f\x7f\[\xc2\xcd\xe1\xe2\xef\xf3]"
# Sequences that move the cursor separate words. Colours do not.
_MOVES = lazy_pattern(rf"\x1b{_PARAMETERS}[@-JL-\[\]-ln-~]", re.ASCII)
_UNSEEN = lazy_pattern(
    rf"{_FIRST}(?:(?<=\x1b)(?:{_PARAMETERS}[@-\[\]-~]"
    rf"|{_STRING}[^\x00\x07\x1b\"\\\r\n]{{0,512}}+(?:[\x00\x07]|\x1b\\?+)"
    rf"|{_SIMPLE})?+|{_OTHERS_UNSEEN})",
    re.ASCII,
)
# The text of a link or a title stays in this view, because it may contain a secret.
_SEPARATORS = lazy_pattern(
    rf"{_FIRST}(?:(?<=\x1b)(?:{_PARAMETERS}[@-\[\]-~]|{_STRING}\d{{0,4}}+;?|\\|{_SIMPLE})?+"
    rf"|{_OTHERS_UNSEEN})",
    re.ASCII,
)


def decoded(view: View) -> View:
    """The view with its escapes decoded."""
    for _ in range(_MOST_DECODINGS):
        next_view = view.replace(_ESCAPES, _decoded).replace(_SPELLED, _decoded)
        if "\\b" in next_view.text:
            next_view = next_view.replace(_STRUCK, "\b")
        if next_view is view:
            break
        view = next_view
    return view


def views(text: str, start: int = 0) -> Iterator[View]:
    """Yield the views of a text that differ from it. ``start``: its offset in the original text."""
    plain = View(text, start)
    readable = decoded(plain)
    joined = readable.replace(_UNSEEN, "")
    if readable is not plain or joined is not readable:
        yield joined
    if joined is not readable:
        yield readable.replace(_SEPARATORS, " ")
        moved = readable.replace(_MOVES, " ")
        if moved is not readable:
            yield moved.replace(_UNSEEN, "")
    unquoted = joined.replace(_PERCENT, _from_percent)
    if unquoted is not joined:
        yield unquoted


def visible_size(text: str) -> int:
    """Return how many columns of a screen a text takes. Its characters are bytes (latin-1)."""
    readable = decoded(View(text)).replace(_UNSEEN, "").text
    return sum(not "\x80" <= sign <= "\xbf" and sign != "\\" for sign in readable)


def plain_form(secret: str) -> str:
    """A secret without escapes, colours and line breaks. Equal secrets have equal forms."""
    readable = decoded(View(secret)).replace(_UNSEEN, "").text
    return _BREAKS.sub("", readable)


_BREAKS = lazy_pattern(r"\\{1,8}[rnt]?|\s")


# ------------------------------------------------------------ where views are needed

# Every place where a view differs from its text has one of these. The first characters of each
# are literal where possible, so that searching is fast.
MARKS: tuple[str, ...] = (
    r"\\u(?:00[0-79aA]|034|18[01]|20[026]|241|[fF][eE]|\{)",
    r"\\/",
    r"\\x[0-9a-fA-F]{2}",
    r"\\[01][0-7]{2}",
    r"\\e\[",
    r"\\b[ -~]{2}\\",
    r"\x1b",
    r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]",
    r"\^\[\[",
    r"ESC\[",
    r"\[\d{1,3}(?:;\d{1,3}){0,5}m",
    r"\xe2(?:\x90\x9b|\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])",
    r"\xc2[\xad\x9b]",
    r"\xcd\x8f",
    r"\xe1\xa0[\x8b-\x8f]",
    r"\xef(?:\xb8[\x80-\x8f]|\xbb\xbf)",
    r"\xf3\xa0[\x80\x81]",
    r"&(?:amp|quot|apos|#\w{2,5});",
    r"%[2-7][0-9A-Fa-f]",
)
