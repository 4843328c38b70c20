"""Write a transcript as one HTML page that loads nothing: no script, no font, no picture.

`text` and `block` escape every text from a log, so none of it becomes markup. The page's own policy
forbids scripts and requests as well.
"""

import html as markup
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from session_memory.render.answers import answer
from session_memory.render.code import Colours, language_of
from session_memory.render.outputs import output_html
from session_memory.render.phrases import (
    change_name,
    image_words,
    result_words,
    session_facts,
    subagent_words,
    turn_words,
)
from session_memory.render.text import safe, safe_lines
from session_memory.render.word_changes import changed_lines
from session_memory.views.figures import local, plural
from session_memory.views.transcript_items import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TurnTotals,
)

if TYPE_CHECKING:
    from session_memory.core.changes import Change
    from session_memory.views.questions import AskedQuestion

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SHORT_OUTPUT = 12
# At most this many characters of code on a page are coloured. Code after them is plain.
MOST_COLOURED = 1024 * 1024


def text(value: str) -> str:
    """Escape one line from a log for an HTML element or attribute."""
    return markup.escape(safe(value), quote=True)


def block(value: str) -> str:
    """Escape several lines from a log for an HTML element."""
    return markup.escape("\n".join(safe_lines(value.strip("\n"))), quote=True)


def html(items: Iterable[TranscriptItem], prompts: Iterable[TranscriptItem]) -> Iterator[str]:
    """Yield the page in parts. ``prompts`` are the items of the same session with prompts only,
    for the list of contents."""
    page = _HtmlPage(prompts)
    for item in items:
        yield from page.of(item)
    yield "</main></div></body></html>\n"


class _HtmlPage:
    def __init__(self, prompts: Iterable[TranscriptItem]) -> None:
        self._prompts = prompts
        self._sessions: list[Any] = []
        self._number = 0
        self._colours = Colours(MOST_COLOURED)

    def of(self, item: TranscriptItem) -> Iterator[str]:
        match item:
            case SessionStart():
                yield from self._opened(item)
            case SessionEnd():
                self._sessions.pop()
                if item.depth:
                    yield "</div></details>\n"
            case TurnTotals() if item.number or not item.depth:
                yield f'<div class="turn">{text(turn_words(item))}</div>\n'
            case TranscriptEvent():
                yield from getattr(self, f"_{item.sort}")(item)

    # ------------------------------------------------------------ sessions

    def _opened(self, item: SessionStart) -> Iterator[str]:
        if item.depth:
            yield from self._subagent(item)
            return
        self._sessions.append(item.session)
        title = text(item.title)
        style = (files("session_memory.render") / "style.css").read_text("utf-8")
        yield (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="referrer" content="no-referrer">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>\n{style}</style></head>\n<body>"
            f'<div class="page">\n<header><h1>{title}</h1>\n'
        )
        yield self._facts(item)
        yield "</header>\n"
        yield from self._contents()
        yield "<main>\n"

    @staticmethod
    def _facts(item: SessionStart) -> str:
        facts = session_facts(item).items()
        rows = (f"<dt>{name}</dt><dd>{text(value)}</dd>" for name, value in facts)
        return f'<dl class="facts">{"".join(rows)}</dl>\n'

    def _contents(self) -> Iterator[str]:
        yield '<nav class="toc"><h2>Prompts</h2><ol>\n'
        for item in self._prompts:
            # Only prompts are listed, not interruptions.
            if isinstance(item, TranscriptEvent) and item.event.is_a("user_msg") and not item.depth:
                words = text((item.text.strip() or item.title)[:160])
                yield f'<li><a href="#e{item.seq}">{words}</a></li>\n'
        yield "</ol></nav>\n"

    def _subagent(self, item: SessionStart) -> Iterator[str]:
        session = item.session
        cost = subagent_words(item)
        yield (
            f'<details class="subagent"{"" if item.is_closed else " open"}><summary>'
            f'<span class="name">subagent</span><span class="what">{text(item.title)}'
            f'</span><span class="end">{text(session.model or "")} · {text(cost)}</span></summary>'
        )
        if item.is_closed:
            yield f'<div class="inside note">{text(session.session_uid)}</div></details>\n'
            return
        self._sessions.append(session)
        self._number += 1
        yield '<div class="inside">\n'

    # ------------------------------------------------------------ what was said

    def _prompt(self, shown: TranscriptEvent) -> Iterator[str]:
        yield self._article(shown, "prompt", "You")
        yield f'<div class="text typed">{block(shown.text or shown.title)}</div>'
        yield f"{self._images(shown)}</article>\n"

    def _answer(self, shown: TranscriptEvent) -> Iterator[str]:
        yield self._article(shown, "answer", self._sessions[-1].flavor.capitalize())
        yield f'<div class="text">{self._message(shown)}</div></article>\n'

    def _thinking(self, shown: TranscriptEvent) -> Iterator[str]:
        yield f'<div class="thinking text"{self._id(shown)}>'
        yield f"{self._message(shown)}</div>\n"

    def _message(self, shown: TranscriptEvent) -> str:
        return answer(shown.text or shown.title, self._colours)

    def _note(self, shown: TranscriptEvent) -> Iterator[str]:
        bad = " failed" if shown.event.kind in ("error", "retry") else ""
        words = text(shown.title or shown.text[:200])
        marks = self._marks(shown)
        if len(shown.text) <= len(shown.title):
            yield f'<div class="note{bad}"{self._id(shown)}>{marks}{words}</div>\n'
            return
        yield (
            f'<details class="note{bad}"{self._id(shown)}><summary>{marks}'
            f'<span class="what">{words}</span></summary>'
            f'<div class="inside"><pre>{block(shown.text)}</pre></div></details>\n'
        )

    # ------------------------------------------------------------ what was done

    def _call(self, shown: TranscriptEvent) -> Iterator[str]:
        what, inside, is_open = self._inside(shown)
        opened = " open" if is_open else ""
        yield (
            f'<details class="call"{self._id(shown)}{opened}><summary>'
            f'<span class="name">{text(shown.event.tool or "tool")}</span>{self._marks(shown)}'
            f'<span class="what">{what}</span></summary>'
            f'<div class="inside">{inside}</div></details>\n'
        )

    def _inside(self, shown: TranscriptEvent) -> tuple[str, str, bool]:
        """Return the line that names a call, the HTML below it, and whether that is unfolded."""
        if shown.changes:
            parts = [self._change(change) for change in shown.changes]
            return ", ".join(what for what, _ in parts), "".join(diff for _, diff in parts), True
        if shown.questions:
            asked = "".join(self._question(one) for one in shown.questions)
            return text(shown.questions[0].text), asked, True
        if shown.command is not None:
            first = shown.command.strip().split("\n", 1)[0]
            code = self._colours.html(shown.command.strip("\n"), "bash")
            return text(first[:400]), f"<pre>{code}</pre>", False
        return text(shown.title), f"<pre>{block(shown.text)}</pre>", False

    @staticmethod
    def _question(question: "AskedQuestion") -> str:
        options = "".join(
            f"<li><b>{text(one.label)}</b> {text(one.description)}</li>" for one in question.options
        )
        return f'<div class="question"><p>{block(question.text)}</p><ol>{options}</ol></div>'

    def _change(self, change: "Change") -> tuple[str, str]:
        figures = f'<span class="plus">+{change.added}</span>'
        figures += f' <span class="minus">−{change.removed}</span>'
        lines = (
            f'<span class="ln {name}">{sign or " "}{line}</span>'
            for name, sign, line in changed_lines(
                change.lines, language_of(change.path), self._colours
            )
        )
        name = text(change_name(change, self._sessions[-1].cwd))
        return f"{name} {figures}", f'<pre class="diff">{"".join(lines)}</pre>'

    def _result(self, shown: TranscriptEvent) -> Iterator[str]:
        failed = " failed" if shown.event.is_error else ""
        lines = shown.text.strip("\n").count("\n") + 1 if shown.text.strip() else 0
        first = shown.text.strip().split("\n", 1)[0][:400]
        words = [shown.event.tool or "tool", *result_words(shown)]
        words.append(plural(lines, "line") if lines else "no output")
        is_short = lines <= SHORT_OUTPUT
        output = "\n".join(output_html(shown.text.strip("\n")))
        is_open = " open" if is_short and (failed or shown.event.is_a("decision")) else ""
        body = f"<pre>{output}</pre>" if lines else ""
        yield (
            f'<details class="result{failed}"{self._id(shown)}{is_open}><summary>'
            f'<span class="what">{text(first)}</span>{self._marks(shown)}'
            f'<span class="end">{text(" · ".join(words))}</span></summary>'
            f'<div class="inside">{body}{self._images(shown)}</div></details>\n'
        )

    # ------------------------------------------------------------ parts

    def _article(self, shown: TranscriptEvent, sort: str, who: str) -> str:
        left = " abandoned" if shown.event.branch is not None else ""
        time = text(local(shown.event.ts)) if shown.event.ts else ""
        anchor = self._anchor(shown)
        return (
            f'<article class="{sort}{left}" id="{anchor}"><div class="who"><b>{text(who)}</b>'
            f"<span>{time}</span>{self._marks(shown)}"
            f'<a href="#{anchor}">#{shown.seq}</a></div>'
        )

    def _anchor(self, shown: TranscriptEvent) -> str:
        return f"s{self._number}e{shown.seq}" if shown.depth else f"e{shown.seq}"

    def _id(self, shown: TranscriptEvent) -> str:
        return f' id="{self._anchor(shown)}"'

    @staticmethod
    def _marks(shown: TranscriptEvent) -> str:
        marks = [mark for mark in shown.marks if mark != "error"]
        return "".join(f'<span class="mark">{text(mark)}</span>' for mark in marks)

    @staticmethod
    def _images(shown: TranscriptEvent) -> str:
        return "".join(f'<div class="image">{text(image_words(i))}</div>' for i in shown.images)
