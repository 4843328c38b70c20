"""Lines of a log as HTML. Colours of a program become classes, other sequences become visible."""

import html as markup
import re

from session_memory.render.text import safe_lines

LONGEST_LINE = 4000
_SGR = re.compile(r"\x1b\[([0-9;]{0,40})m")
_NAMES = {1: "b", 2: "d", 31: "r", 32: "g", 33: "y", 34: "c", 35: "m", 36: "c"}
_BRIGHT = 60
_WEIGHTS = frozenset("bd")
# A colour by its number (5) or by red, green and blue (2): that many of the next numbers are none.
_FOLLOWING = {5: 1, 2: 3}


def lines_html(text: str) -> list[str]:
    """The lines of a text, escaped. A very long line is cut, and that is said."""
    return [markup.escape(_cut(line), quote=True) for line in safe_lines(text)]


def output_html(text: str) -> list[str]:
    """The lines of an output, escaped. A colour goes on in the next line until it is ended."""
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
    """The classes after a sequence of codes. Codes that we do not show change nothing."""
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
