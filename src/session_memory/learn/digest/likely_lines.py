"""Find the lines of an output that may match a form of `runner_lines`, without trying the forms.

This is much faster than to match every line with every form. Each form needs one of the parts
below, so a line without any of them has no form. If you add a form there, add its part here; a test
tries every form.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import AnyStr

from session_memory.core.lazy_patterns import lazy_pattern

_ANY_CASE_PARTS = (
    "error", "fail", "panic", "fatal", "exception", "lint/", "assist/", "suppressions/", "parse/",
    " format", "): ", "✗ ", "✘ ", "✖ ", "× ", "● ", " › ", "reformat", "[warn]", "rspec ",
    "not ok ", "err_pnpm_", "err!", "no rule ", "! [", "conflict (", "]: ", ":in ", "curl: (",
    "ssh: ", "scp: ", "permission", "permitted", "not found", "no such", "no matches found",
    "unbound variable", "is a directory", "bad substitution", "cannot", "cherry-pick is now",
    "zsh: ", "diff in ", "went wrong:", "! formatter", "! the imports",
)  # fmt: skip
# Parts that only hints (the forms of the lowest grade) need. Prose is full of them.
_HINT_PARTS = (
    b"not recognized", b"illegal option", b"unknown option", b"unrecognized", b"can't",
    b"couldn't", b"could not", b"unable to", b"refused", b"denied", b"timeout", b"time out",
    b"timedout", b"timed out", b"invalid", b"is not", b"does not", b"did not",
    b"unknown ", b"unsupported ", b"unexpected ", b"ambiguous ", b"missing ",
    b"undefined ", b"ms)",
)  # fmt: skip
# Parts that stand at the start of a line, so the line end before them is included.
_STARTS = ("\ne: ", "\ne  ")
_EXACT_PARTS = ("Exit", "Interrupt")
# The ASCII parts as bytes, and the parts with other characters.
_ANY_CASE_PLAIN = tuple(part.encode() for part in _ANY_CASE_PARTS if part.isascii())
_PLAIN_PARTS = (*_ANY_CASE_PLAIN, *(part.encode() for part in _STARTS))
_EXACT_PLAIN = tuple(part.encode() for part in _EXACT_PARTS)
_SIGNS = tuple(part for part in _ANY_CASE_PARTS if not part.isascii())
# A file with a line, the code of a rule, the number of a test, the name of an error: ENOENT.
_PATTERNS = tuple(
    map(
        lazy_pattern,
        (
            *(r":\d+:", r": \d+: ", r"line \d+: ", r"\n[A-Z]{1,4}\d{3,4} "),
            *(r"\n\d{1,3}\) [A-Z]", r"E[A-Z]{4,12}[:,]"),
        ),
    )
)
# The same patterns for any place in a line, because a margin or a task name may come first.
_ANYWHERE = tuple(
    map(
        lazy_pattern,
        (
            *(r":\d+:", r": \d+: ", r"line \d+: ", r"[A-Z]\d{3,4} "),
            *(r"\) (?<=\d\) )[A-Z]", r"E[A-Z]{4,12}[:,]"),
        ),
    )
)
# Parts of the forms that show which compiler, linter or test runner printed them.
_CHECK_PARTS = (
    "[ERROR]", "[warn]", "[error]", "(fail) ", "FAIL", "● ", "rspec ", "not ok ", "assist/",
    "suppressions/", "parse/", "Diff in ", " - error: ", "ERROR ", "Formatter w",
    "imports and exports", "Formatting issues",
)  # fmt: skip
# Patterns of such forms, each with a text that it needs. To find the text is much faster.
_CHECK_PATTERNS = tuple(
    (part, lazy_pattern(pattern))
    for part, pattern in (
        ("error", r"error(?: [A-Z]+\d|\[E\d)"),
        ("error", r":\d+\s+error\s"),
        ("✖", r":\d+\s+✖\s"),
        ("×", r":\d+\s+×\s"),
        ("e: ", r"e: (?<![^\s\]\ufeff]e: )\S"),
        ("E  ", r"E  (?<![^\s\]\ufeff]E  )"),
        ("lint/", r"lint/(?<![^\s\]\ufeff]lint/)\w"),
        (" format", r" format *━*[ \t\u2009\u00a0\ufeff]*(?:[\r\n]|\Z)"),
        ("): ", r"\([\w/-]+\): "),
        ("ERROR: ", r"ERROR: \w+ \("),
        (") ", r"\) (?<=\d\) )[A-Z]"),
        (" › ", r":\d+ › "),
    )
)
# The code of a linter's rule, such as "E501". To find texts that may have one, capital letters are
# replaced by A and digits by 0.
_CODE = lazy_pattern(r"[A-Z]\d{3,4}:? ")
_SHAPES = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", b"AAAAAAAAAAAAAAAAAAAAAAAAAA0000000000"
)


def likely_lines(lines: Sequence[str], *, hints: bool = True) -> list[int]:
    """Return the indexes of the lines that may have a form, in order.

    Without ``hints``, many lines that can only be hints are left out.
    """
    text = "\n" + "\n".join(lines)
    # A search in bytes is much faster than in text. Every character becomes one byte.
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
    """Whether any line of a text may have a form. False means that no line has one."""
    lowered = text.encode("ascii", "replace").lower()
    return (
        any(part in lowered for part in _ANY_CASE_PLAIN)
        or (hints and any(part in lowered for part in _HINT_PARTS))
        or any(part in text for part in (*_EXACT_PARTS, "e: ", "E  ", *_SIGNS))
        or any(pattern.search(text) for pattern in _ANYWHERE)
    )


def may_be_of_check(text: str) -> bool:
    """Whether any line of a text may have a form that shows which compiler, linter or test runner
    printed it."""
    return (
        any(part in text for part in _CHECK_PARTS)
        or any(part in text and pattern.search(text) for part, pattern in _CHECK_PATTERNS)
        or (_may_have_code(text) and _CODE.search(text) is not None)
    )


def _may_have_code(text: str) -> bool:
    """Whether a text may contain a capital letter and three digits. Faster than the pattern."""
    return not text.isascii() or b"A000" in text.encode().translate(_SHAPES)


def _starts(lines: Sequence[str]) -> list[int]:
    """Return where each line starts in a text that has a line end before each line."""
    return list(accumulate((len(line) + 1 for line in lines[:-1]), initial=1))


def _add_lines(places: set[int], text: AnyStr, part: AnyStr, starts: list[int]) -> None:
    at = text.find(part)
    while at >= 0:
        line = bisect_right(starts, at + len(part) - 1) - 1
        places.add(line)
        if line + 1 == len(starts):
            return
        # One part is enough, so the search goes on in the next line.
        at = text.find(part, starts[line + 1] - 1)
