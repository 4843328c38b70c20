"""Turn the output of a program into HTML. Its colours become classes, other control characters
become visible."""

import html as markup
import re

from session_memory.render.text import safe_lines

LONGEST_LINE = 4000
_SGR = re.compile(r"\x1b\[([0-9;]{0,40})m")
_NAMES = {1: "b", 2: "d", 31: "r", 32: "g", 33: "y", 34: "c", 35: "m", 36: "c"}
_BRIGHT = 60
_WEIGHTS = frozenset("bd")
# The codes 38 and 48 begin a colour, which is left out: 5 and its number, or 2 and its red, green
# and blue. So this many numbers follow the 5 or the 2.
_FOLLOWING = {5: 1, 2: 3}


def lines_html(text: str) -> list[str]:
    """Return the lines of a text, escaped. A very long line is cut and says so."""
    return [markup.escape(_cut(line), quote=True) for line in safe_lines(text)]


def output_html(text: str) -> list[str]:
    """Return the lines of an output as HTML. A colour continues in the next line until it ends."""
    if "\x1b" not in text:
        return lines_html(text)
    made = [""]
    state: frozenset[str] = frozenset()
    for place, part in enumerate(_SGR.split(text)):
        if place % 2:
            state = _state(state, part)
            continue
        names = " ".join(f"ansi-{name}" for name in sorted(state))
        for number, line in enumerate(lines_html(part)):
            if number:
                made.append("")
            if line:
                made[-1] += f'<span class="{names}">{line}</span>' if names else line
    return made


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} … {len(line) - LONGEST_LINE:,} more characters"


def _state(state: frozenset[str], codes: str) -> frozenset[str]:
    """Return the classes after a sequence of codes. Codes that are not shown change nothing."""
    numbers = iter([int(code or 0) for code in codes.split(";")])
    for number in numbers:
        if number == 0:
            state = frozenset()
        elif number in (22, 39):
            state = state - _WEIGHTS if number == 22 else state & _WEIGHTS
        elif number in (38, 48):
            for _ in range(_FOLLOWING.get(next(numbers, 0), 0)):
                next(numbers, None)
        elif (name := _NAMES.get(number) or _NAMES.get(number - _BRIGHT)) is not None:
            state = (state if name in _WEIGHTS else state & _WEIGHTS) | {name}
    return state
