"""The only module that turns text into markup.

Every value that a template prints passes `shown`: characters that hide or reorder text become
visible, and Jinja escapes the rest. Functions here return `Markup` for what has tags of our own.
"""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from session_memory.render.answers import answer as rendered_answer
from session_memory.render.text import safe, safe_lines

LONGEST_LINE = 4000
_SGR = re.compile(r"\x1b\[([0-9;]{0,40})m")
_COLOURS = {1: "b", 2: "d", 31: "r", 32: "g", 33: "y", 34: "c", 35: "m", 36: "c"}
_BRIGHT = 60


def shown(value: Any) -> Any:
    """A value as a template prints it: on one line, with nothing that hides or reorders text."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return safe(value)


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("session_memory.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"lines": lines, "answer": answer, "ansi": ansi, "marked": marked}
    return environment


def lines(text: str) -> Markup:
    """Several lines of a log."""
    return Markup("\n").join(escape(_cut(line)) for line in safe_lines(text.strip("\n")))


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} … {len(line) - LONGEST_LINE:,} more characters"


def answer(text: str) -> Markup:
    """The Markdown of an answer, with formatting only."""
    return Markup(rendered_answer(text))


def ansi(text: str) -> Markup:
    """The output of a program. Its colours become classes; other sequences become visible."""
    if "\x1b" not in text:
        return lines(text)
    parts: list[Markup] = []
    state: frozenset[str] = frozenset()
    for place, part in enumerate(_SGR.split(text.strip("\n"))):
        if place % 2:
            state = _state(state, part)
        elif part:
            body = Markup("\n").join(escape(_cut(line)) for line in safe_lines(part))
            names = " ".join(f"ansi-{name}" for name in sorted(state))
            parts.append(
                Markup('<span class="{}">{}</span>').format(names, body) if names else body
            )
    return Markup("").join(parts)


def _state(state: frozenset[str], codes: str) -> frozenset[str]:
    """The classes after a sequence of codes. Codes that we do not show change nothing."""
    for code in codes.split(";"):
        number = int(code or 0)
        if number == 0:
            state = frozenset()
        elif number in (22, 39):
            weights = {"b", "d"}
            state = state - weights if number == 22 else state & weights
        elif (name := _COLOURS.get(number) or _COLOURS.get(number - _BRIGHT)) is not None:
            kept = state if name in "bd" else state & {"b", "d"}
            state = kept | {name}
    return state


def marked(text: str, marks: list[tuple[int, int]]) -> Markup:
    """A text on one line with some parts of it marked, as a search finds them."""
    parts, place = [], 0
    for start, end in sorted(marks):
        if start >= place:
            parts += [escape(safe(text[place:start]))]
            parts += [Markup("<mark>{}</mark>").format(safe(text[start:end]))]
            place = end
    return Markup("").join([*parts, escape(safe(text[place:]))])
