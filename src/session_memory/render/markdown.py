"""Write a transcript as Markdown that is safe in any viewer.

HTML from a log is shown as text, links only lead to web addresses, and pictures are not fetched.
Headings and rules of an answer cannot look like those of the transcript, and a fence is longer than
any fence inside it.
"""

import re
from collections.abc import Iterable, Iterator

from session_memory.render.phrases import (
    change_name,
    image_words,
    result_words,
    session_facts,
    turn_words,
)
from session_memory.render.text import safe, safe_lines
from session_memory.views.figures import local
from session_memory.views.transcript_items import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TurnTotals,
)

_PUNCTUATION = re.compile(r"([\\`*_\[\]>#|~&])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_RUN = re.compile(r"`+")
# Marks that can come before a heading or a rule: those of quotes and of items of lists.
_NESTING = re.compile(r"(?:[>\s]|[-*+]\s|\d{1,9}[.)]\s)*")
_HEADING = re.compile(r"#{1,6}(?=\s|$)")
_RULES = ({"-"}, {"="}, {"_"}, {"*"})
_LINK = re.compile(r"\]\((?!https?://)")
# A backslash before "<" is not enough: after a web address, a viewer reads it as part of the
# address, and the tag behind it becomes active again. So "<" becomes an entity, even if the log
# already escaped it.
_MARKUP = re.compile(r"(?<!\\)((?:\\\\)*)\\?<")
_OPENING = "&lt;"
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,20}")
DEEPEST_HEADING = 6


def markdown(items: Iterable[TranscriptItem]) -> Iterator[str]:
    page = _MarkdownPage()
    for item in items:
        for line in page.of(item):
            yield f"{line}\n"


def inline(text: str) -> str:
    """Return ``text`` on one line, with every special character escaped.

    Characters that are special only at the start of a line are not escaped, because callers always
    write something before the text.
    """
    return _PUNCTUATION.sub(r"\\\1", safe(text)).replace("<", _OPENING)


def fenced(lines: Iterable[str], language: str = "") -> Iterator[str]:
    """Yield the lines of a code block. Its fence is so long that no line inside can end it."""
    kept = list(lines)
    longest = max((len(run) for line in kept for run in _RUN.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from kept
    yield fence


def harmless(text: str) -> Iterator[str]:
    """Reduce the Markdown of an agent's answer to Markdown that only formats."""
    block: list[str] | None = None
    fence, language = "", ""
    for line in safe_lines(text.strip("\n")):
        mark = _FENCE.match(line)
        if block is not None:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                yield from fenced(block, language)
                block = None
            else:
                block.append(line)
        elif mark:
            word = _LANGUAGE.match(mark[2].strip())
            block, fence, language = [], mark[1], word[0] if word else ""
        else:
            yield _harmless_line(line)
    if block is not None:
        yield from fenced(block, language)


def _harmless_line(line: str) -> str:
    """Return ``line`` with HTML, pictures and links to other places than the web escaped, so that
    a viewer shows them as text.

    In inline code a viewer would show the escapes themselves. So code that needs escapes becomes
    text. Code that needs none stays code. A line that would be a heading or a rule becomes text.
    """
    pieces = (
        _harmless_code(text) if is_code else _harmless_text(text) for text, is_code in _pieces(line)
    )
    return _no_heading("".join(pieces).rstrip())


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a line, each with whether it is inline code.

    Code goes from a run of backticks to the next run of the same length.
    """
    runs = [(found.start(), found.end()) for found in _RUN.finditer(line)]
    later: dict[int, list[int]] = {}
    for number, (start, end) in reversed(list(enumerate(runs))):
        later.setdefault(end - start, []).append(number)
    place = following = 0
    for number, (start, end) in enumerate(runs):
        same = later[end - start]
        same.pop()
        if number >= following and same:
            yield line[place:start], False
            following, place = same[-1] + 1, runs[same[-1]][1]
            yield line[start:place], True
    yield line[place:], False


def _harmless_code(code: str) -> str:
    return code if _harmless_text(code) == code else inline(code.strip("`").strip(" "))


def _no_heading(line: str) -> str:
    nesting = _NESTING.match(line)
    place = nesting.end() if nesting else 0
    start, rest = line[:place], line[place:]
    # The backslash keeps the text of the line, but the line is no heading or rule any more.
    if _HEADING.match(rest) or set(rest) - {" "} in _RULES:
        rest = f"\\{rest}"
    return start + rest


def _harmless_text(line: str) -> str:
    line = _MARKUP.sub(rf"\1{_OPENING}", line).replace("![", "!\\[").replace("]:", "]\\:")
    return _LINK.sub(r"]\\(", line)


class _MarkdownPage:
    def __init__(self) -> None:
        self._cwd: list[str | None] = []
        self._flavor: list[str] = []

    def of(self, item: TranscriptItem) -> Iterator[str]:
        match item:
            case SessionStart():
                yield from self._opened(item)
            case SessionEnd():
                self._cwd.pop()
                self._flavor.pop()
                if item.depth:
                    yield from (f"*End of subagent {inline(item.session.session_uid)}.*", "")
            case TurnTotals() if item.number or not item.depth:
                yield from (f"*{inline(turn_words(item))}*", "")
            case TranscriptEvent():
                yield from getattr(self, f"_{item.sort}")(item)

    def _opened(self, item: SessionStart) -> Iterator[str]:
        session = item.session
        title = inline(item.title)
        level = self._level(item.depth, 1)
        if item.is_closed:
            yield from (f"*Subagent {inline(session.session_uid)}: {title}*", "")
            return
        self._cwd.append(session.cwd)
        self._flavor.append(session.flavor)
        yield from (f"{level} {'Subagent: ' if item.depth else ''}{title}", "")
        facts = session_facts(item).items()
        yield from (f"- {name}: {inline(value)}" for name, value in facts)
        yield ""

    def _prompt(self, shown: TranscriptEvent) -> Iterator[str]:
        yield from self._heading(shown, "You")
        yield from harmless(shown.text or shown.title)
        yield from self._images(shown)
        yield ""

    def _answer(self, shown: TranscriptEvent) -> Iterator[str]:
        yield from self._heading(shown, self._flavor[-1].capitalize())
        yield from harmless(shown.text or shown.title)
        yield ""

    def _thinking(self, shown: TranscriptEvent) -> Iterator[str]:
        yield from ("*Thinking:*", "")
        for line in harmless(shown.text or shown.title):
            yield f"> {line}" if line else ">"
        yield ""

    def _note(self, shown: TranscriptEvent) -> Iterator[str]:
        words = inline(shown.title or shown.text[:200])
        yield from (f"*{inline(shown.event.kind)}{self._marks(shown)}: {words}*", "")
        if shown.text.strip() and len(shown.text) > len(shown.title):
            yield from (*fenced(safe_lines(shown.text.strip("\n"))), "")

    def _call(self, shown: TranscriptEvent) -> Iterator[str]:
        is_shown_below = shown.changes or shown.questions or shown.command is not None
        title = "" if is_shown_below else shown.title
        words = f": {inline(title)}" if title else ""
        yield from (f"**{inline(shown.event.tool or 'tool')}**{self._marks(shown)}{words}", "")
        for change in shown.changes:
            name = inline(change_name(change, self._cwd[-1]))
            yield from (f"File {name} (+{change.added} -{change.removed})", "")
            yield from (*fenced(map(_one, change.lines), "diff"), "")
        for question in shown.questions:
            yield from (f"Question: {inline(question.text)}", "")
            for number, one in enumerate(question.options, 1):
                about = f": {inline(one.description)}" if one.description else ""
                yield f"{number}. **{inline(one.label)}**{about}"
            yield ""
        if shown.command is not None:
            yield from (*fenced(safe_lines(shown.command), "sh"), "")
        elif not shown.questions and not shown.changes and shown.text.strip():
            yield from (*fenced(safe_lines(shown.text.strip("\n"))), "")

    def _result(self, shown: TranscriptEvent) -> Iterator[str]:
        if shown.text.strip():
            yield from (*fenced(safe_lines(shown.text.strip("\n"))), "")
        yield from self._images(shown)
        words = f"{shown.event.tool or 'tool'}: {', '.join(result_words(shown))}"
        yield from (f"*{inline(words)}*", "")

    def _heading(self, shown: TranscriptEvent, who: str) -> Iterator[str]:
        time = f" · {local(shown.event.ts)}" if shown.event.ts else ""
        yield f"{self._level(shown.depth, 2)} {inline(who)}{self._marks(shown)}{time}"
        yield ""

    @staticmethod
    def _level(depth: int, level: int) -> str:
        return "#" * min(depth * 2 + level, DEEPEST_HEADING)

    @staticmethod
    def _marks(shown: TranscriptEvent) -> str:
        marks = [mark for mark in shown.marks if mark != shown.event.kind]
        return f" ({inline(', '.join(marks))})" if marks else ""

    @staticmethod
    def _images(shown: TranscriptEvent) -> Iterator[str]:
        for image in shown.images:
            yield from (f"*{inline(image_words(image))}*", "")


def _one(line: str) -> str:
    return safe_lines(line)[0]
