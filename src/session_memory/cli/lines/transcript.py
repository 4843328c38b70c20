"""A transcript as lines for a terminal: messages, calls, folded outputs, and the cost of each turn.

Items are turned into lines one by one, so a long session starts at once.
"""

from collections.abc import Iterable, Iterator
from datetime import tzinfo

import click

from session_memory.cli.lines.event_lines import BAR, DIM, MARGIN, EventLines
from session_memory.cli.lines.json_outline import outline
from session_memory.cli.lines.session_header import ShortNames, header
from session_memory.render.phrases import (
    subagent_words,
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


class TranscriptLines:
    """Turns the items of a transcript into lines of at most ``limit`` columns.

    ``unfolded`` shows whole outputs. The event with the number ``asked`` is marked.
    """

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
        self._events = EventLines(names, limit, unfolded=unfolded)
        self._day = ""
        self._clock = ""

    def of(self, items: Iterable[TranscriptItem]) -> Iterator[str]:
        before: TranscriptItem | None = None
        for item in items:
            if isinstance(before, TranscriptEvent):
                yield from self._native(before, item)
            yield from self._blank_line(before, item)
            yield from self._item(item)
            before = item
        if isinstance(before, TranscriptEvent):
            yield from self._native(before, None)

    def _item(self, item: TranscriptItem) -> Iterator[str]:
        match item:
            case SessionStart():
                yield from self._opened(item)
            case SessionEnd():
                self._events.close_session()
                if item.depth:
                    yield self._line(item.depth - 1, click.style("└─", **DIM))
            case TurnTotals() if item.number or not item.depth:
                yield self._line(item.depth, click.style(turn_words(item), fg="blue"))
            case TranscriptEvent():
                yield from self._event(item)

    def _blank_line(self, before: TranscriptItem | None, item: TranscriptItem) -> Iterator[str]:
        """Yield a blank line if ``item`` is a prompt or an answer, unless it begins a session."""
        is_speech = isinstance(item, TranscriptEvent) and item.sort in ("prompt", "answer")
        if is_speech and not isinstance(before, SessionStart):
            yield self._line(item.depth, "")

    def _opened(self, start: SessionStart) -> Iterator[str]:
        self._events.open_session(start)
        if not start.depth:
            yield from header(start, self._names, self._limit, self._tz)
            return
        used = f"({subagent_words(start)}, {start.session.model or 'no model'})"
        words = safe(f"subagent {self._names(start.session.session_uid)} {start.title} {used}")
        mark = "├─" if start.is_closed else "┌─"
        line = self._events.fitted(f"{mark} {words}", start.depth - 1)
        yield self._line(start.depth - 1, click.style(line, bold=True))

    def _event(self, shown: TranscriptEvent) -> Iterator[str]:
        yield from self._new_day(shown)
        margin, blank = self._margin(shown), " " * MARGIN
        for place, line in enumerate(self._events.of(shown)):
            start = blank if place else margin
            yield f"{start}{self._nesting(shown.depth)}{line}".rstrip()

    def _native(self, shown: TranscriptEvent, follower: TranscriptItem | None) -> Iterator[str]:
        """Yield the agent's own record, once: below the last of the events that come from it."""
        if shown.payload is None or _same_record(shown, follower):
            return
        margin = " " * MARGIN + self._nesting(shown.depth) + "    "
        for line in outline(shown.payload.record):
            yield margin + click.style(line, **DIM)
        if shown.payload.spilled is not None:
            yield margin + click.style("the whole output, which the agent keeps apart:", **DIM)
            for line in safe_lines(shown.payload.spilled):
                yield margin + line

    def _margin(self, shown: TranscriptEvent) -> str:
        clock = local(shown.event.ts, "%H:%M:%S", self._tz) if shown.event.ts else ""
        time = "" if clock == self._clock else clock
        self._clock = clock or self._clock
        if shown.seq == self._asked and not shown.depth:
            return click.style(f"{f'>{shown.seq}':>5}  {time:<8}  ", fg="yellow", bold=True)
        return click.style(f"{shown.seq:>5}  {time:<8}  ", **DIM)

    def _new_day(self, shown: TranscriptEvent) -> Iterator[str]:
        day = local(shown.event.ts, "%Y-%m-%d", self._tz) if shown.event.ts else self._day
        if day != self._day:
            self._day, self._clock = day, ""
            yield self._line(shown.depth, click.style(f"── {day}", **DIM))

    def _line(self, depth: int, text: str) -> str:
        return f"{' ' * MARGIN}{self._nesting(depth)}{text}".rstrip()

    @staticmethod
    def _nesting(depth: int) -> str:
        return f"{click.style((BAR * depth).rstrip(), **DIM)} " if depth else ""


def _same_record(shown: TranscriptEvent, follower: TranscriptItem | None) -> bool:
    if not isinstance(follower, TranscriptEvent):
        return False
    ours, theirs = shown.event.payload_ref or "", follower.event.payload_ref or ""
    return ours.partition("#")[0] == theirs.partition("#")[0]
