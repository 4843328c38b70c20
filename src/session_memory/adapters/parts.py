"""Lines that would take, decoded, many times their size: told before they are decoded."""

import re
from itertools import islice

LONG_LINE = 4 * 1024 * 1024
MOST_PARTS = 500_000
_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+"|,')


def refuse_many_parts(line: bytes) -> None:
    """Raise ``ValueError`` for a long line of many tiny parts; long lines are one long text."""
    if len(line) <= LONG_LINE or line.count(b",") <= MOST_PARTS:
        return
    commas = (found for found in _TEXT_OR_COMMA.finditer(line) if found.end() - found.start() == 1)
    if next(islice(commas, MOST_PARTS, None), None) is not None:
        raise ValueError(f"more than {MOST_PARTS:,} parts")
