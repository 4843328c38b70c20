"""Make the diff of two texts of any length that differ in one place."""

import re
from difflib import unified_diff

CONTEXT = 3
_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)


def unified(now: str, after: str, now_name: str, after_name: str) -> str:
    """A unified diff. Only the lines between the first and the last change are compared."""
    old, new = now.splitlines(keepends=True), after.splitlines(keepends=True)
    least = min(len(old), len(new))
    first = next((n for n in range(least) if old[n] != new[n]), least)
    last = next((n for n in range(least - first) if old[-1 - n] != new[-1 - n]), least - first)
    start, end = max(first - CONTEXT, 0), max(last - CONTEXT, 0)
    lines = unified_diff(
        old[start : len(old) - end], new[start : len(new) - end], now_name, after_name, n=CONTEXT
    )
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return _HUNK.sub(lambda hunk: _moved(hunk, start), text)


def _moved(hunk: re.Match[str], by: int) -> str:
    """Return the ``@@`` line of a change with line numbers of the whole text."""
    old, new = int(hunk[1]) + by, int(hunk[3]) + by
    return f"@@ -{old}{hunk[2] or ''} +{new}{hunk[4] or ''} @@"
