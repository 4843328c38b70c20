"""Find private keys whose lines are separate strings, in source code or in a JSON list.

Each line is a separate secret, so the quotes and escapes between the lines stay unchanged. If the
end of the key is not found, only long random lines count as lines of the key.
"""

import re
from collections.abc import Iterator

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.redact.rules import KEY_LEAD, LEAD, LINE, SIGN

MOST_LINES = 400
_HEADER = lazy_pattern(r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_BETWEEN = (
    rf"(?:{LINE}|{SIGN}|\\{{0,7}}[\"'`]|[,\d()\[\]&]"
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash): [\w ,./+:@()-]{1,80}+)"
)
_BODY = lazy_pattern(
    rf"{_BETWEEN}{{1,60}}?"
    r"([A-Za-z0-9+/=]{32,2000}+"
    rf"|(?=\+?[A-Za-z0-9])[A-Za-z0-9+/=]{{1,76}}+(?={_BETWEEN}{{1,60}}?-----END))",
    re.ASCII,
)
_MIXED = tuple(lazy_pattern(signs) for signs in ("[a-z]", "[A-Z]", "[0-9]"))


def quoted_key_lines(text: str, place: int) -> Iterator[tuple[int, int]]:
    """The ranges of the lines of the key whose header contains ``place``."""
    start = text.rfind(KEY_LEAD, max(place - LEAD, 0), place)
    header = _HEADER.match(text, start) if start >= 0 else None
    if header is None:
        return
    end = header.end()
    for _ in range(MOST_LINES):
        line = _BODY.match(text, end)
        if line is None or not _is_of_a_key(line[1]):
            return
        yield line.span(1)
        end = line.end()


def _is_of_a_key(line: str) -> bool:
    return len(line) < 32 or all(signs.search(line) for signs in _MIXED)
