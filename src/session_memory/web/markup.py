"""The only module that turns text into markup.

Every value that a template prints passes `shown`: characters that hide or reorder text become
visible, and Jinja escapes the rest. Functions here return `Markup` for what has tags of our own.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from html import unescape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from session_memory.render.answers import answer as rendered_answer
from session_memory.render.code import Colours
from session_memory.render.outputs import lines_html, output_html
from session_memory.render.text import safe
from session_memory.render.word_changes import changed_lines
from session_memory.web.charts import strip

# An id that a shell needs in quotes gets no link.
_SHOWN_SESSION = re.compile(
    r"<code>session-memory show (?P<uid>[^<\s]{1,500})"
    r"(?: --around (?P<event>[\w@%+=:,./-]{1,500}))?</code>"
)


def shown(value: Any) -> Any:
    """Return a value as a template prints it: on one line, without characters that hide or reorder
    text."""
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
    environment.globals |= {"lines": lines, "answer": answer, "marked": marked, "strip": strip}
    return environment


def lines(text: str) -> Markup:
    """Return several lines of a log as escaped HTML."""
    return Markup("\n".join(lines_html(text.strip("\n"))))


def answer(text: str, colours: Colours | None = None) -> Markup:
    """Return an agent's Markdown answer as HTML. HTML tags in the answer are shown as text."""
    return Markup(rendered_answer(text, colours))


def with_session_links(
    text: Markup, session: Callable[[str], str], event: Callable[[str, str], str]
) -> Markup:
    """Make a link of each ``session-memory show UID`` in a text that `answer` returned.

    ``session`` and ``event`` return the address of a session and of an event (``--around EVENT``).
    """

    def link(found: "re.Match[str]") -> str:
        uid = unescape(found["uid"])
        address = event(uid, found["event"]) if found["event"] else session(uid)
        return Markup('<a class="link" href="{}">{}</a>').format(address, Markup(found[0]))

    return Markup(_SHOWN_SESSION.sub(link, text))


def code(text: str, language: str, colours: Colours) -> Markup:
    """Return code as HTML, coloured for its language."""
    return Markup(colours.html(text, language))


def output(text: str) -> list[Markup]:
    """Return the lines of a program's output as HTML, with its colours."""
    return [Markup(line) for line in output_html(text)]


def diff_lines(
    lines: Sequence[str], language: str, colours: Colours
) -> list[tuple[str, str, Markup]]:
    """Return the lines of a diff, each as a CSS class, a sign (``+`` or ``-``) and its text."""
    return [
        (name, sign, Markup(text)) for name, sign, text in changed_lines(lines, language, colours)
    ]


def marked(text: str, marks: list[tuple[int, int]]) -> Markup:
    """Return a text on one line as HTML, with the words marked that a search found."""
    parts, place = [], 0
    for start, end in sorted(marks):
        if start >= place:
            parts += [escape(safe(text[place:start]))]
            parts += [Markup("<mark>{}</mark>").format(safe(text[start:end]))]
            place = end
    return Markup("").join([*parts, escape(safe(text[place:]))])
