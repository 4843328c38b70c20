"""One event of a transcript as lines for a terminal, without the margin that shows its time."""

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.lines.diff import diff_lines, tally
from session_memory.cli.lines.folding import folded, whole
from session_memory.cli.lines.json_outline import outline
from session_memory.cli.lines.markdown import prose
from session_memory.cli.lines.session_header import ShortNames
from session_memory.core.text import one_line
from session_memory.render.phrases import (
    change_name,
    image_words,
    result_words,
)
from session_memory.render.text import cut, cut_middle, safe
from session_memory.views.paths import path_from
from session_memory.views.transcript_items import (
    SessionStart,
    TranscriptEvent,
)

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.payloads import Image

NARROWEST = 30
WIDEST = 110
LONGEST_NAME = 30
MARGIN = 17
BAR = "│ "
DIM: dict[str, Any] = {"dim": True}


class EventLines:
    """Turns events into lines that fit beside the margin. ``unfolded`` shows whole outputs.

    A transcript contains the events of subagents. The sessions that began and did not end yet are
    on a stack; the last one is the session of the current event.
    """

    def __init__(self, names: ShortNames, limit: int | None, *, unfolded: bool) -> None:
        self._names = names
        self._limit = limit
        self._unfolded = unfolded
        self._sessions: list[Session] = []
        self._edits: set[str] = set()
        self._has_several_owners = False
        self._last_call: str | None = None

    def open_session(self, start: SessionStart) -> None:
        self._has_several_owners |= len(start.inherits) > 1
        if not start.is_closed:
            self._sessions.append(start.session)

    def close_session(self) -> None:
        self._sessions.pop()

    def of(self, shown: TranscriptEvent) -> Iterator[str]:
        lines: Iterator[str] = getattr(self, f"_{shown.sort}")(shown)
        return lines

    def fitted(self, text: str, depth: int, used: int = 0) -> str:
        """Cut ``text`` to the columns left for a subagent at ``depth``, less ``used`` columns."""
        room = self._room(depth, used)
        return text if room is None else cut(text, room)

    def _room(self, depth: int, used: int = 0) -> int | None:
        if self._limit is None:
            return None
        room = self._limit - MARGIN - len(BAR) * depth - used
        return min(max(room, NARROWEST), WIDEST)

    def _prompt(self, shown: TranscriptEvent) -> Iterator[str]:
        style: dict[str, Any] = {"fg": "green", "bold": True}
        if "human_intervention" in shown.marks or "decision" in shown.marks:
            style = {"fg": "yellow", "bold": True}
        yield f"{click.style('you', **style)}{self._marked(shown, hide=('error',))}"
        for line in self._message(shown):
            yield click.style("▌ ", **style) + line
        yield from self._images(shown.images)

    def _answer(self, shown: TranscriptEvent) -> Iterator[str]:
        name = safe(self._sessions[-1].flavor)
        yield f"{click.style(name, fg='magenta', bold=True)}{self._marked(shown)}"
        room = self._room(shown.depth, 2)
        if not shown.text.strip() and shown.title:
            yield f"  {safe(shown.title)}"
        for line in prose(shown.text, room, shorten=not self._unfolded):
            yield f"  {line}"

    def _thinking(self, shown: TranscriptEvent) -> Iterator[str]:
        words = shown.text.strip("\n") or shown.title
        for place, line in enumerate(self._plain(words, shown.depth, 10)):
            start = "thinking  " if not place else " " * 10
            yield click.style(f"{start}{line}", dim=True, italic=True)

    def _note(self, shown: TranscriptEvent) -> Iterator[str]:
        words = shown.text.strip("\n") or shown.title
        if not self._unfolded:
            words = safe(words[: 4 * WIDEST])
        is_bad = shown.event.kind in ("error", "retry")
        mark = click.style("✗", fg="red") if is_bad else click.style("·", **DIM)
        style: dict[str, Any] = {"fg": "red"} if is_bad else DIM
        for place, line in enumerate(self._note_lines(words, shown)):
            start = f"{mark}{self._marked(shown, hide=('error',))} " if not place else "  "
            yield f"{start}{click.style(line, **style)}"

    def _note_lines(self, words: str, shown: TranscriptEvent) -> list[str]:
        if self._unfolded:
            return whole(words) or [safe(shown.title)]
        return [self.fitted(words, shown.depth, 2 + self._marked_width(shown))]

    def _call(self, shown: TranscriptEvent) -> Iterator[str]:
        self._last_call = shown.event.call_id
        start = f"{click.style(_tool(shown), fg='cyan', bold=True)}{self._marked(shown)}"
        if shown.changes:
            self._edits.add(shown.event.call_id or "")
            yield from self._edit(shown, start)
        elif shown.questions:
            yield start
            yield from self._questions(shown)
        elif shown.command is not None:
            yield from self._command(shown, start)
        else:
            title = self._call_title(shown)
            used = len(_tool(shown)) + 2 + self._marked_width(shown)
            yield f"{start}  {self.fitted(safe(title), shown.depth, used)}".rstrip()
            if self._unfolded:
                given = shown.arguments if shown.arguments is not None else shown.text
                yield from (click.style(f"  {line}", **DIM) for line in outline(given))

    def _call_title(self, shown: TranscriptEvent) -> str:
        if shown.event.path and shown.title == one_line(shown.event.path):
            return path_from(shown.event.path, self._sessions[-1].cwd)
        return shown.title

    def _edit(self, shown: TranscriptEvent, start: str) -> Iterator[str]:
        cwd = self._sessions[-1].cwd if self._sessions else None
        for place, change in enumerate(shown.changes):
            used = 20 if place else len(_tool(shown)) + 20 + self._marked_width(shown)
            room = self._room(shown.depth, used)
            name = safe(change_name(change, cwd))
            name = name if room is None else cut_middle(name, room)
            title = f"{name}  {tally(change.added, change.removed)}".rstrip()
            yield f"{start}  {title}" if not place else f"  {title}"
            room = self._room(shown.depth, 4)
            for line in diff_lines(change.lines, room, shorten=not self._unfolded):
                yield f"  {click.style(BAR.rstrip(), **DIM)} {line}"

    def _questions(self, shown: TranscriptEvent) -> Iterator[str]:
        """Yield each question that the agent asked, with its options, numbered."""
        room = self._room(shown.depth, 6)
        for place, question in enumerate(shown.questions):
            if place:
                yield ""
            yield from (f"  {line}" for line in prose(question.text, room))
            for number, option in enumerate(question.options, 1):
                about = f": {option.description}" if option.description else ""
                lines = prose(f"{option.label}{about}", room)
                for start, line in zip(chain([f"{number}. "], repeat("   ")), lines, strict=False):
                    yield f"  {start}{line}"

    def _command(self, shown: TranscriptEvent, start: str) -> Iterator[str]:
        used = len(_tool(shown)) + 3 + self._marked_width(shown)
        lines = self._plain(shown.command or "", shown.depth, used)
        sign = click.style("$", **DIM)
        for place, line in enumerate(lines or [""]):
            yield f"{start} {sign} {line}" if not place else f"{' ' * used}{line}"

    def _result(self, shown: TranscriptEvent) -> Iterator[str]:
        event = shown.event
        style: dict[str, Any] = {"fg": "red"} if event.is_error else {}
        is_said = event.call_id in self._edits and not event.is_error and not self._unfolded
        self._edits.discard(event.call_id or "")
        bar = f"{click.style(BAR.rstrip(), **(style or DIM))} "
        for line in [] if is_said else self._result_text(shown):
            how = style or (DIM if line.startswith("… ") else {})
            yield f"  {bar}{click.style(line, **how) if how and line else line}"
        for line in self._images(shown.images):
            yield f"  {line}"
        words = " · ".join(self._outcome(shown))
        end = click.style(f"└ {words}", **(style or DIM))
        yield f"  {end}{self._marked(shown, hide=('error',))}"

    def _result_text(self, shown: TranscriptEvent) -> Iterable[str]:
        """Return a result's lines. A person's answer is wrapped; the output of a tool is cut.

        With ``unfolded`` the lines stay whole.
        """
        if shown.event.is_a("decision") and not shown.event.is_error and not self._unfolded:
            return prose(shown.text, self._room(shown.depth, 4))
        return self._plain(shown.text, shown.depth, 4)

    def _outcome(self, shown: TranscriptEvent) -> Iterator[str]:
        # Calls may run in parallel: a result that does not follow its call names the call.
        name = "" if shown.event.call_id == self._last_call else f"{_tool(shown)} "
        first, *others = result_words(shown)
        yield from (f"{name}{first}", *others)

    def _message(self, shown: TranscriptEvent) -> Iterator[str]:
        words = shown.text.strip("\n") or shown.title
        return prose(words, self._room(shown.depth, 2), shorten=not self._unfolded)

    def _plain(self, text: str, depth: int, used: int) -> list[str]:
        if not text.strip():
            return []
        return whole(text) if self._unfolded else folded(text, self._room(depth, used))

    def _images(self, images: "Iterable[Image]") -> Iterator[str]:
        for image in images:
            yield click.style(f"[{image_words(image)}]", fg="yellow", dim=True)

    def _marked(self, shown: TranscriptEvent, hide: tuple[str, ...] = ()) -> str:
        marks = [mark for mark in shown.marks if mark not in hide]
        if shown.owner is not None and self._has_several_owners:
            marks = [
                f"inherited from {self._names(shown.owner)}" if mark == "inherited" else mark
                for mark in marks
            ]
        words = safe(", ".join(marks))
        return click.style(f" [{words}]", fg="yellow") if words else ""

    def _marked_width(self, shown: TranscriptEvent) -> int:
        return len(click.unstyle(self._marked(shown)))


def _tool(shown: TranscriptEvent) -> str:
    return cut(safe(shown.event.tool or "tool"), LONGEST_NAME)
