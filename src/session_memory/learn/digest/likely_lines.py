"""Which lines of an output may have a form of `runner_lines`. This is much faster than the forms.

Every form needs one of the parts below, so a line without any of them has no form. A form that is
added there needs its part here; a test tries every form.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import AnyStr

from session_memory.core.lazy_patterns import lazy_pattern

_ANY_CASE_PARTS = (
    "error", "fail", "panic", "fatal", "exception", "lint/", "assist/", "suppressions/", "parse/",
    " format", "): ", "✗ ", "✘ ", "✖ ", "× ", "● ", "reformat", "[warn]", "rspec ", "not ok ",
    "err_pnpm_", "err!", "no rule ", "! [", "conflict (", "]: ", ":in ", "curl: (", "ssh: ",
    "scp: ", "permission", "permitted", "not found", "no such", "no matches found",
    "unbound variable", "is a directory", "bad substitution", "cannot", "cherry-pick is now",
)  # fmt: skip
# Only hints need these. Prose is full of them.
_HINT_PARTS = (
    b"not recognized", b"illegal option", b"unknown option", b"unrecognized", b"can't",
    b"couldn't", b"could not", b"unable to", b"refused", b"denied", b"timeout", b"time out",
    b"timedout", b"timed out", b"invalid", b"is not", b"does not", b"did not",
    b"unknown ", b"unsupported ", b"unexpected ", b"ambiguous ", b"missing ",
)  # fmt: skip
# Before these is the end of a line.
_STARTS = ("\ne: ", "\ne  ")
_EXACT_PARTS = ("Exit", "Interrupt")
# The parts as bytes, and those that are no ASCII.
_ANY_CASE_PLAIN = tuple(part.encode() for part in _ANY_CASE_PARTS if part.isascii())
_PLAIN_PARTS = (*_ANY_CASE_PLAIN, *(part.encode() for part in _STARTS))
_EXACT_PLAIN = tuple(part.encode() for part in _EXACT_PARTS)
_SIGNS = tuple(part for part in _ANY_CASE_PARTS if not part.isascii())
# A file with a line, the code of a rule, the number of a test, the name of an error: ENOENT.
_PATTERNS = tuple(
    map(
        lazy_pattern, (r":\d+:", r"\n[A-Z]{1,4}\d{3,4} ", r"\n\d{1,3}\) [A-Z]", r"E[A-Z]{4,12}[:,]")
    )
)
# The same patterns at any place: before the text is a margin, or the name of a task.
_ANYWHERE = tuple(
    map(lazy_pattern, (r":\d+:", r"[A-Z]\d{3,4} ", r"\) (?<=\d\) )[A-Z]", r"E[A-Z]{4,12}[:,]"))
)
# The forms of compilers, linters and test runners that say which program they are. Before some of
# them is the start of a line, a blank or the name of a task.
_CHECK_PARTS = (
    "[ERROR]", "[warn]", "[error]", "(fail) ", "FAIL", "● ", "rspec ", "not ok ", "assist/",
    "suppressions/", "parse/",
)  # fmt: skip
# Each with a part that it needs, which is found much faster.
_CHECK_PATTERNS = tuple(
    (part, lazy_pattern(pattern))
    for part, pattern in (
        ("error", r"error(?: [A-Z]+\d|\[E\d)"),
        ("error", r":\d+\s+error\s"),
        ("e: ", r"e: (?<![^\s\]\ufeff]e: )\S"),
        ("E  ", r"E  (?<![^\s\]\ufeff]E  )"),
        ("lint/", r"lint/(?<![^\s\]\ufeff]lint/)\w"),
        (" format", r" format *━*[ \t\u2009\u00a0\ufeff]*(?:[\r\n]|\Z)"),
        ("): ", r"\([\w/-]+\): "),
        ("ERROR: ", r"ERROR: \w+ \("),
        (") ", r"\) (?<=\d\) )[A-Z]"),
    )
)
# The code of a rule. Capital letters have the shape A, digits the shape 0.
_CODE = lazy_pattern(r"[A-Z]\d{3,4}:? ")
_SHAPES = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", b"AAAAAAAAAAAAAAAAAAAAAAAAAA0000000000"
)


def likely_lines(lines: Sequence[str], *, hints: bool = True) -> list[int]:
    """The places of lines that may have a form, in order. Without ``hints``, many lines that can
    only be hints are left out."""
    text = "\n" + "\n".join(lines)
    # Much faster than to search in text of several bytes a character. Places stay the same.
    plain = text.encode("ascii", "replace")
    lowered = plain.lower()
    places: set[int] = set()
    starts = _starts(lines)
    for part in (*_PLAIN_PARTS, *_HINT_PARTS) if hints else _PLAIN_PARTS:
        if part in lowered:
            _add_lines(places, lowered, part, starts)
    if not text.isascii():
        for sign in _SIGNS:
            if sign in text:
                _add_lines(places, text, sign, starts)
    for part in _EXACT_PLAIN:
        if part in plain:
            _add_lines(places, plain, part, starts)
    for pattern in _PATTERNS:
        places.update(bisect_right(starts, found.end() - 1) - 1 for found in pattern.finditer(text))
    return sorted(places)


def may_tell(text: str, *, hints: bool = True) -> bool:
    """Whether a line of a text may have a form. Each of `_STARTS` is the start of a line."""
    lowered = text.encode("ascii", "replace").lower()
    return (
        any(part in lowered for part in _ANY_CASE_PLAIN)
        or (hints and any(part in lowered for part in _HINT_PARTS))
        or any(part in text for part in (*_EXACT_PARTS, "e: ", "E  ", *_SIGNS))
        or any(pattern.search(text) for pattern in _ANYWHERE)
    )


def may_be_of_check(text: str) -> bool:
    """Whether a line may have a form of a compiler, linter or test runner that names it."""
    return (
        any(part in text for part in _CHECK_PARTS)
        or any(part in text and pattern.search(text) for part, pattern in _CHECK_PATTERNS)
        or (_may_have_code(text) and _CODE.search(text) is not None)
    )


def _may_have_code(text: str) -> bool:
    """Whether a letter and three digits may be in a text. Much faster than the pattern."""
    return not text.isascii() or b"A000" in text.encode().translate(_SHAPES)


def _starts(lines: Sequence[str]) -> list[int]:
    """Where each line starts in the lines with a line end before each."""
    return list(accumulate((len(line) + 1 for line in lines[:-1]), initial=1))


def _add_lines(places: set[int], text: AnyStr, part: AnyStr, starts: list[int]) -> None:
    at = text.find(part)
    while at >= 0:
        line = bisect_right(starts, at + len(part) - 1) - 1
        places.add(line)
        if line + 1 == len(starts):
            return
        # The rest of the line does not matter.
        at = text.find(part, starts[line + 1] - 1)
