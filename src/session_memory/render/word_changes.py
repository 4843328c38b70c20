"""Mark which words of a line changed between a removed line of a diff and the added line."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from session_memory.render.code import Colours, pieces_html
from session_memory.render.text import safe_lines

LONGEST = 400
MOST_WORDS = 120
MOST_PAIRS = 200
# Lines that have less in common are two different lines. Marks in them would only confuse.
ALIKE = 0.4
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_SIGNS = {"+": "ad", "-": "de", "@": "at"}

Marks = list[tuple[int, int]]


def changed_lines(
    lines: Sequence[str], language: str, colours: Colours
) -> list[tuple[str, str, str]]:
    """Return the lines of a diff, each as a class for its sign, the sign, and its text as HTML."""
    if not lines:
        return []
    texts = [safe_lines(line)[0] for line in lines]
    signs = [text[:1] if text[:1] in _SIGNS else "" for text in texts]
    bodies = [text[1:] if text[:1] in (*"+-", " ") else text for text in texts]
    # A line such as "@@ -1 +1 @@", which names a place, is no code.
    code = ["" if sign == "@" else body for sign, body in zip(signs, bodies, strict=True)]
    pieces = colours.lines("\n".join(code), language)
    marks = changed_words(signs, bodies)
    return [
        (_SIGNS[sign], "", pieces_html([("", bodies[at])]))
        if sign == "@"
        else (_SIGNS.get(sign, "co"), sign, pieces_html(line, marks.get(at, ())))
        for at, (sign, line) in enumerate(zip(signs, pieces, strict=True))
    ]


def changed_words(signs: list[str], bodies: list[str]) -> dict[int, Marks]:
    """Return the changed parts of lines, by the number of the line.

    Each removed line is compared with the added line that takes its place.
    """
    found: dict[int, Marks] = {}
    place = pairs = 0
    while place < len(signs):
        start = place
        while place < len(signs) and signs[place] == "-":
            place += 1
        middle = place
        while middle > start and place < len(signs) and signs[place] == "+":
            place += 1
        for old, new in zip(range(start, middle), range(middle, place), strict=False):
            pairs += 1
            if pairs <= MOST_PAIRS and (both := _pair(bodies[old], bodies[new])) is not None:
                found[old], found[new] = both
        place = max(place, start + 1)
    return found


def _pair(old: str, new: str) -> tuple[Marks, Marks] | None:
    if len(old) > LONGEST or len(new) > LONGEST:
        return None
    before, after = _WORD.findall(old), _WORD.findall(new)
    head = _common(before, after)
    rest = min(len(before), len(after)) - head
    tail = min(_common(before[::-1], after[::-1]), rest)
    a, b = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(a) > MOST_WORDS or len(b) > MOST_WORDS:
        return None
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    blocks = matcher.get_matching_blocks()
    same = sum(len(a[place]) for block in blocks for place in range(block.a, block.a + block.size))
    same += sum(map(len, before[:head])) + sum(map(len, before[len(before) - tail :]))
    if 2 * same < ALIKE * (len(old) + len(new)):
        return None
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    offset = sum(map(len, before[:head]))
    return (
        _places(a, [(code[1], code[2]) for code in codes], offset),
        _places(b, [(code[3], code[4]) for code in codes], offset),
    )


def _common(first: list[str], second: list[str]) -> int:
    """Count the words that both lists have in common at their beginning."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _places(words: list[str], ranges: list[tuple[int, int]], offset: int) -> Marks:
    starts = [offset]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[end]) for first, end in ranges if end > first]
