"""Compare two long lists of lines in bounded time.

Lines that are in each list exactly once and in the same order divide the lists into short parts.
Only the parts are compared line by line, and only as long as this is cheap.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import pairwise


def large_hunks(before: list[str], after: list[str], *, most: int, context: int) -> list[str]:
    """Return the hunks of a diff, as ``difflib.unified_diff`` does, without the file headers.

    ``most`` limits the number of old lines times the number of new lines that are compared. A part
    beyond this limit is shown as all its old lines, then all its new lines.
    """
    matcher = _Matcher([*_merged(_runs(before, after, most)), Match(len(before), len(after), 0)])
    lines: list[str] = []
    for group in matcher.get_grouped_opcodes(context):
        (_, old, _, new, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        lines.append(f"@@ -{_span(old, old_end)} +{_span(new, new_end)} @@")
        for tag, old, old_end, new, new_end in group:
            if tag == "equal":
                lines += (f" {line}" for line in before[old:old_end])
                continue
            lines += (f"-{line}" for line in before[old:old_end])
            lines += (f"+{line}" for line in after[new:new_end])
    return lines


class _Matcher(SequenceMatcher[str]):
    """Makes groups of changes from runs of equal lines that are known already."""

    def __init__(self, runs: list[Match]) -> None:
        super().__init__()
        self._runs = runs

    def get_matching_blocks(self) -> list[Match]:
        return self._runs


def _span(start: int, end: int) -> str:
    """Return a range of lines as a unified diff writes it."""
    size = end - start
    if size == 1:
        return f"{start + 1}"
    return f"{start + 1 if size else start},{size}"


def _runs(before: list[str], after: list[str], most: int) -> Iterator[Match]:
    """Yield the runs of equal lines, in order. Some touch the next one, and some are empty."""
    begin, end = Match(0, 0, 0), Match(len(before), len(after), 0)
    for last, anchor in pairwise((begin, *_anchors(before, after), end)):
        old, new = last.a + last.size, last.b + last.size
        head, tail = _equal_ends(before[old : anchor.a], after[new : anchor.b])
        yield Match(old, new, head)
        rest_old = before[old + head : anchor.a - tail]
        rest_new = after[new + head : anchor.b - tail]
        cost = len(rest_old) * len(rest_new)
        if 0 < cost <= most:
            most -= cost
            for a, b, size in SequenceMatcher(None, rest_old, rest_new).get_matching_blocks():
                yield Match(old + head + a, new + head + b, size)
        yield Match(anchor.a - tail, anchor.b - tail, tail + anchor.size)


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[Match]:
    """Return the longest sequence of lines that are unique in both lists and in the same order."""
    counts, others = Counter(before), Counter(after)
    places = {line: n for n, line in enumerate(after) if others[line] == 1}
    pairs = [
        (n, places[line]) for n, line in enumerate(before) if counts[line] == 1 and line in places
    ]
    # ``ends[k]`` is the least place in ``after`` where a sequence of k + 1 pairs ends.
    ends: list[int] = []
    lengths = []
    for _, new in pairs:
        lengths.append(bisect_left(ends, new))
        ends[lengths[-1] : lengths[-1] + 1] = [new]
    wanted, limit = len(ends) - 1, len(after)
    found: list[Match] = []
    for (old, new), length in zip(reversed(pairs), reversed(lengths), strict=True):
        if length == wanted and new < limit:
            found.append(Match(old, new, 1))
            wanted, limit = wanted - 1, new
    return found[::-1]


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines are equal at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    return head, tail


def _merged(runs: Iterable[Match]) -> Iterator[Match]:
    """Join the runs that touch, and leave out the empty ones; only the first one yielded may be
    empty."""
    held = Match(0, 0, 0)
    for run in runs:
        if (held.a + held.size, held.b + held.size) == (run.a, run.b):
            held = Match(held.a, held.b, held.size + run.size)
        elif run.size:
            yield held
            held = run
    yield held
