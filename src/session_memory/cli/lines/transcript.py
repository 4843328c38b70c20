"""A transcript as lines for a terminal: messages, calls, folded outputs, and the cost of each turn.

Items are turned into lines one by one, so a long session starts at once.
"""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.lines.diff import diff_lines, tally
from session_memory.cli.lines.folding import folded, whole
from session_memory.cli.lines.json_outline import outline
from session_memory.cli.lines.markdown import prose
from session_memory.cli.lines.session_header import ShortNames, header
from session_memory.core.text import one_line
from session_memory.render.phrases import (
    change_name,
    image_words,
    result_words,
    subagent_words,
    turn_words,
)
from session_memory.render.text import cut, cut_middle, safe, safe_lines
from session_memory.views.figures import local
from session_memory.views.paths import path_from
from session_memory.views.transcript_items import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TurnTotals,
)

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.payloads import Image

MARGIN = 17
NARROWEST = 30
WIDEST = 110
LONGEST_NAME = 30
BAR = "│ "
_DIM: dict[str, Any] = {"dim": True}


class TranscriptLines:
    """Turns items into lines of at most ``limit`` columns. ``unfolded`` shows whole outputs, and
    the event at ``asked`` is marked."""

    def __init__(
        self,
        names: ShortNames,
        limit: int | None,
        *,
        unfolded: bool = False,
        asked: int | None = None,
        tz: tzinfo | None = None,
    ) -> None:
        self._asked = asked
        self._tz = tz
        self._names = names
        self._limit = limit
        self._unfolded = unfolded
        self._day = ""
        self._clock = ""
        self._sessions: list[Session] = []
        self._edits: set[str] = set()
        self._has_several_owners = False
        self._last_call: str | None = None

    def of(self, items: Iterable[TranscriptItem]) -> Iterator[str]:
        before: TranscriptItem | None = None
        for item in items:
            if isinstance(before, TranscriptEvent):
                yield from self._native(before, item)
            yield from self._air(before, item)
            yield from self._item(item)
            before = item
        if isinstance(before, TranscriptEvent):
            yield from self._native(before, None)

    def _item(self, item: TranscriptItem) -> Iterator[str]:
        match item:
            case SessionStart():
                yield from self._opened(item)
            case SessionEnd():
                self._sessions.pop()
                if item.depth:
                    yield self._line(item.depth - 1, click.style("└─", **_DIM))
            case TurnTotals() if item.number or not item.depth:
                yield self._line(item.depth, click.style(turn_words(item), fg="blue"))
            case TranscriptEvent():
                yield from self._piece(item)

    def _air(self, before: TranscriptItem | None, item: TranscriptItem) -> Iterator[str]:
        """A blank line before each message."""
        is_speech = isinstance(item, TranscriptEvent) and item.sort in ("prompt", "answer")
        if is_speech and not isinstance(before, SessionStart):
            yield self._line(item.depth, "")

    # ------------------------------------------------------------ sessions

    def _opened(self, item: SessionStart) -> Iterator[str]:
        self._has_several_owners |= len(item.inherits) > 1
        if not item.depth:
            self._sessions.append(item.session)
            yield from header(item, self._names, self._limit, self._tz)
            return
        session = item.session
        used = f"({subagent_words(item)}, {session.model or 'no model'})"
        words = safe(f"subagent {self._names(session.session_uid)} {item.title} {used}")
        mark = "├─" if item.is_closed else "┌─"
        line = self._fitted(f"{mark} {words}", item.depth - 1)
        yield self._line(item.depth - 1, click.style(line, bold=True))
        if not item.is_closed:
            self._sessions.append(session)

    # ------------------------------------------------------------ pieces

    def _piece(self, shown: TranscriptEvent) -> Iterator[str]:
        yield from self._new_day(shown)
        margin = self._margin(shown)
        blank = " " * MARGIN
        for place, line in enumerate(getattr(self, f"_{shown.sort}")(shown)):
            start = blank if place else margin
            yield f"{start}{self._nesting(shown.depth)}{line}".rstrip()

    def _prompt(self, shown: TranscriptEvent) -> Iterator[str]:
        style: dict[str, Any] = {"fg": "green", "bold": True}
        if "human_intervention" in shown.marks or "decision" in shown.marks:
            style = {"fg": "yellow", "bold": True}
        yield f"{click.style('you', **style)}{self._marked(shown, hide=('error',))}"
        for line in self._said(shown):
            yield click.style("▌ ", **style) + line
        yield from self._images(shown.images)

    def _answer(self, shown: TranscriptEvent) -> Iterator[str]:
        name = safe(self._flavor())
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
        mark = click.style("✗", fg="red") if is_bad else click.style("·", **_DIM)
        style: dict[str, Any] = {"fg": "red"} if is_bad else _DIM
        for place, line in enumerate(self._note_lines(words, shown)):
            start = f"{mark}{self._marked(shown, hide=('error',))} " if not place else "  "
            yield f"{start}{click.style(line, **style)}"

    def _note_lines(self, words: str, shown: TranscriptEvent) -> list[str]:
        if self._unfolded:
            return whole(words) or [safe(shown.title)]
        return [self._fitted(words, shown.depth, 2 + self._marked_width(shown))]

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
            yield f"{start}  {self._fitted(safe(title), shown.depth, used)}".rstrip()
            if self._unfolded:
                given = shown.arguments if shown.arguments is not None else shown.text
                yield from (click.style(f"  {line}", **_DIM) for line in outline(given))

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
                yield f"  {click.style(BAR.rstrip(), **_DIM)} {line}"

    def _questions(self, shown: TranscriptEvent) -> Iterator[str]:
        """Each question with its options, numbered."""
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
        sign = click.style("$", **_DIM)
        for place, line in enumerate(lines or [""]):
            yield f"{start} {sign} {line}" if not place else f"{' ' * used}{line}"

    def _result(self, shown: TranscriptEvent) -> Iterator[str]:
        event = shown.event
        style: dict[str, Any] = {"fg": "red"} if event.is_error else {}
        is_said = event.call_id in self._edits and not event.is_error and not self._unfolded
        self._edits.discard(event.call_id or "")
        bar = f"{click.style(BAR.rstrip(), **(style or _DIM))} "
        for line in [] if is_said else self._result_text(shown):
            how = style or (_DIM if line.startswith("… ") else {})
            yield f"  {bar}{click.style(line, **how) if how and line else line}"
        for line in self._images(shown.images):
            yield f"  {line}"
        words = " · ".join(self._outcome(shown))
        end = click.style(f"└ {words}", **(style or _DIM))
        yield f"  {end}{self._marked(shown, hide=('error',))}"

    def _result_text(self, shown: TranscriptEvent) -> Iterable[str]:
        """The text of a result. A person's answer is wrapped; the output of a program is cut."""
        if shown.event.is_a("decision") and not shown.event.is_error and not self._unfolded:
            return prose(shown.text, self._room(shown.depth, 4))
        return self._plain(shown.text, shown.depth, 4)

    def _outcome(self, shown: TranscriptEvent) -> Iterator[str]:
        # Calls may run side by side: a result that does not follow its call says whose it is.
        name = "" if shown.event.call_id == self._last_call else f"{_tool(shown)} "
        first, *others = result_words(shown)
        yield from (f"{name}{first}", *others)

    def _native(self, shown: TranscriptEvent, follower: TranscriptItem | None) -> Iterator[str]:
        """The record below the last of its events: several events can come from one record."""
        if shown.payload is None or _same_record(shown, follower):
            return
        margin = " " * MARGIN + self._nesting(shown.depth) + "    "
        for line in outline(shown.payload.record):
            yield margin + click.style(line, **_DIM)
        if shown.payload.spilled is not None:
            yield margin + click.style("the whole output, which the agent keeps apart:", **_DIM)
            for line in safe_lines(shown.payload.spilled):
                yield margin + line

    # ------------------------------------------------------------ parts of lines

    def _said(self, shown: TranscriptEvent) -> Iterator[str]:
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

    def _margin(self, shown: TranscriptEvent) -> str:
        clock = local(shown.event.ts, "%H:%M:%S", self._tz) if shown.event.ts else ""
        time = "" if clock == self._clock else clock
        self._clock = clock or self._clock
        if shown.seq == self._asked and not shown.depth:
            return click.style(f"{f'>{shown.seq}':>5}  {time:<8}  ", fg="yellow", bold=True)
        return click.style(f"{shown.seq:>5}  {time:<8}  ", **_DIM)

    def _new_day(self, shown: TranscriptEvent) -> Iterator[str]:
        day = local(shown.event.ts, "%Y-%m-%d", self._tz) if shown.event.ts else self._day
        if day != self._day:
            self._day, self._clock = day, ""
            yield self._line(shown.depth, click.style(f"── {day}", **_DIM))

    def _flavor(self) -> str:
        return self._sessions[-1].flavor if self._sessions else "agent"

    def _line(self, depth: int, text: str) -> str:
        return f"{' ' * MARGIN}{self._nesting(depth)}{text}".rstrip()

    @staticmethod
    def _nesting(depth: int) -> str:
        return f"{click.style((BAR * depth).rstrip(), **_DIM)} " if depth else ""

    def _room(self, depth: int, used: int = 0) -> int | None:
        if self._limit is None:
            return None
        room = self._limit - MARGIN - len(BAR) * depth - used
        return min(max(room, NARROWEST), WIDEST)

    def _fitted(self, text: str, depth: int, used: int = 0) -> str:
        room = self._room(depth, used)
        return text if room is None else cut(text, room)


def _tool(shown: TranscriptEvent) -> str:
    return cut(safe(shown.event.tool or "tool"), LONGEST_NAME)


def _same_record(shown: TranscriptEvent, follower: TranscriptItem | None) -> bool:
    if not isinstance(follower, TranscriptEvent):
        return False
    ours, theirs = shown.event.payload_ref or "", follower.event.payload_ref or ""
    return ours.partition("#")[0] == theirs.partition("#")[0]
