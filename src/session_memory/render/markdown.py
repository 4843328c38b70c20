"""A transcript as Markdown that is only read, whatever viewer opens it.

Nothing from a log keeps its power: HTML is text, links lead to web addresses only, pictures are
not fetched, headings and rules of an answer cannot pass for those of the transcript, and a fence
is longer than any inside it.
"""

import re
from collections.abc import Iterable, Iterator

from session_memory.render.phrases import cost_words, image_words, token_words, turn_words
from session_memory.render.text import safe, safe_lines
from session_memory.views.figures import duration, local
from session_memory.views.files import shown_path
from session_memory.views.transcript import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TurnTotals,
)

_PUNCTUATION = re.compile(r"([\\`*_\[\]>#|~&])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_RUN = re.compile(r"`+")
# What may stand before a heading or a rule: quotes and items of lists.
_NESTING = re.compile(r"(?:[>\s]|[-*+]\s|\d{1,9}[.)]\s)*")
_HEADING = re.compile(r"#{1,6}(?=\s|$)")
_RULES = ({"-"}, {"="}, {"_"}, {"*"})
_LINK = re.compile(r"\]\((?!https?://)")
# A backslash is no help here: an address of the web takes one that follows it for a part of itself,
# and what comes next is a tag again. So is none that was there already.
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
    """``text`` on one line, every sign taken literally that means something inside of one; what
    means something at its beginning only never stands there."""
    return _PUNCTUATION.sub(r"\\\1", safe(text)).replace("<", _OPENING)


def fenced(lines: Iterable[str], language: str = "") -> Iterator[str]:
    """A block of code that nothing inside can end."""
    kept = list(lines)
    longest = max((len(run) for line in kept for run in _RUN.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from kept
    yield fence


def harmless(text: str) -> Iterator[str]:
    """Markdown of an answer as Markdown that only formats."""
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
    line = line.rstrip()
    nesting = _NESTING.match(line)
    place = nesting.end() if nesting else 0
    start, rest = line[:place], line[place:]
    # A heading stays a line that reads as one, and is none.
    if _HEADING.match(rest) or set(rest) - {" "} in _RULES:
        rest = f"\\{rest}"
    line = start + rest
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
        title = inline(session.title or "(no title)")
        level = self._level(item.depth, 1)
        if item.is_closed:
            yield from (f"*Subagent {inline(session.session_uid)}: {title}*", "")
            return
        self._cwd.append(session.cwd)
        self._flavor.append(session.flavor)
        yield from (f"{level} {'Subagent: ' if item.depth else ''}{title}", "")
        told = {
            "session": session.session_uid,
            "repository": session.repo,
            "directory": session.cwd,
            "branch": session.git_branch,
            "model": session.model,
            "time": f"{local(session.started_at)} to {local(session.ended_at)}",
            "tokens": token_words(session.cost),
            "cost": cost_words(item),
        }
        yield from (f"- {name}: {inline(value)}" for name, value in told.items() if value)
        yield ""

    def _prompt(self, piece: TranscriptEvent) -> Iterator[str]:
        yield from self._heading(piece, "You")
        yield from harmless(piece.text or piece.title)
        yield from self._images(piece)
        yield ""

    def _answer(self, piece: TranscriptEvent) -> Iterator[str]:
        yield from self._heading(piece, self._flavor[-1].capitalize())
        yield from harmless(piece.text or piece.title)
        yield ""

    def _thinking(self, piece: TranscriptEvent) -> Iterator[str]:
        yield from ("*Thinking:*", "")
        for line in harmless(piece.text or piece.title):
            yield f"> {line}" if line else ">"
        yield ""

    def _note(self, piece: TranscriptEvent) -> Iterator[str]:
        words = inline(piece.title or piece.text[:200])
        yield from (f"*{inline(piece.event.kind)}{self._marks(piece)}: {words}*", "")
        if piece.text.strip() and len(piece.text) > len(piece.title):
            yield from (*fenced(safe_lines(piece.text.strip("\n"))), "")

    def _call(self, piece: TranscriptEvent) -> Iterator[str]:
        title = piece.title if not piece.changes and piece.command is None else ""
        words = f": {inline(title)}" if title else ""
        yield from (f"**{inline(piece.event.tool or 'tool')}**{self._marks(piece)}{words}", "")
        for change in piece.changes:
            path = inline(shown_path(change.path, self._cwd[-1]))
            moved = f" → {inline(change.moved_to)}" if change.moved_to else ""
            figures = f"(+{change.added} -{change.removed})"
            yield from (f"File {path}{moved} {figures}", "")
            yield from (*fenced(map(_one, change.lines), "diff"), "")
        if piece.command is not None:
            yield from (*fenced(safe_lines(piece.command), "sh"), "")
        elif not piece.changes and piece.text.strip():
            yield from (*fenced(safe_lines(piece.text.strip("\n"))), "")

    def _result(self, piece: TranscriptEvent) -> Iterator[str]:
        if piece.text.strip():
            yield from (*fenced(safe_lines(piece.text.strip("\n"))), "")
        yield from self._images(piece)
        told = [f"{piece.event.tool or 'tool'}: {'failed' if piece.event.is_error else 'ok'}"]
        if piece.event.exit_code:
            told.append(f"exit {piece.event.exit_code}")
        if piece.duration_ms is not None and piece.duration_ms >= 1000:
            told.append(duration(piece.duration_ms / 1000))
        yield from (f"*{inline(', '.join(told))}*", "")

    def _heading(self, piece: TranscriptEvent, who: str) -> Iterator[str]:
        time = f" · {local(piece.event.ts)}" if piece.event.ts else ""
        yield f"{self._level(piece.depth, 2)} {inline(who)}{self._marks(piece)}{time}"
        yield ""

    @staticmethod
    def _level(depth: int, level: int) -> str:
        return "#" * min(depth * 2 + level, DEEPEST_HEADING)

    @staticmethod
    def _marks(piece: TranscriptEvent) -> str:
        marks = [mark for mark in piece.marks if mark != piece.event.kind]
        return f" ({inline(', '.join(marks))})" if marks else ""

    @staticmethod
    def _images(piece: TranscriptEvent) -> Iterator[str]:
        for image in piece.images:
            yield from (f"*{inline(image_words(image))}*", "")


def _one(line: str) -> str:
    return safe_lines(line)[0]
