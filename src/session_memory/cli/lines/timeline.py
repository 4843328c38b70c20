"""A timeline as lines: the time, a bar for the duration, and what happened."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import click

from session_memory.core.time import parse_time
from session_memory.render.text import cut, safe
from session_memory.views.figures import count_or_zero, duration, local

if TYPE_CHECKING:
    from session_memory.views.timeline import TimelineEntry, TimelineStream

BAR, SHORTEST_BAR = 24, 8
# The columns beside the bar: the clock, the duration, and the blanks between.
AROUND_BAR = 8 + 11 + 6
LEAST_WORDS = 24
_SIGNS = {
    "prompt": "❯",
    "turn": "=",
    "tool": "▸",
    "error": "✗",
    "decision": "?",
    "compaction": "≈",
    "subagent": "┌",
    "gap": "…",
}
_STYLES: dict[str, dict[str, Any]] = {
    "prompt": {"fg": "green", "bold": True},
    "turn": {"fg": "blue"},
    "error": {"fg": "red"},
    "decision": {"fg": "yellow"},
    "compaction": {"fg": "yellow"},
    "subagent": {"fg": "magenta"},
    "gap": {"dim": True},
}


def timeline_lines(timeline: "TimelineStream", limit: int | None) -> Iterator[str]:
    scale = _Scale(timeline, _columns(limit))
    day, moment = "", None
    for moment in timeline.moments():
        its = local(moment.at, "%Y-%m-%d") if moment.at else day
        if its != day:
            day = its
            yield click.style(f"── {day}", dim=True)
        yield _line(moment, scale, limit)
    if moment is None:
        yield "No prompt, call or pause in this session."


def _columns(limit: int | None) -> int:
    """Return the width of the bars. On a narrow terminal the bars shrink before the words do."""
    if limit is None:
        return BAR
    return max(min(limit - AROUND_BAR - 2 * LEAST_WORDS, BAR), SHORTEST_BAR)


def _line(moment: "TimelineEntry", scale: "_Scale", limit: int | None) -> str:
    style = _STYLES.get(moment.sort, {})
    if moment.state == "failed":
        style = {"fg": "red"}
    if moment.is_abandoned:
        style = {"dim": True}
    clock = local(moment.at, "%H:%M:%S") if moment.at else ""
    spent = "" if moment.duration_ms is None else duration(moment.duration_ms / 1000)
    words = f"{'  ' * moment.depth}{_SIGNS.get(moment.sort, '·')} {_words(moment)}"
    room = None if limit is None else max(limit - scale.columns - AROUND_BAR, LEAST_WORDS)
    text = safe(words) if room is None else cut(safe(words), room)
    front = click.style(f"{clock:<8}", dim=True)
    bar = click.style(scale.bar(moment), **(style or {"fg": "cyan"}))
    # Without a style, click.style would still append a reset code.
    return f"{front}  {bar}  {spent:>11}  {click.style(text, **style) if style else text}"


def _words(moment: "TimelineEntry") -> str:
    match moment.sort:
        case "tool":
            failed = " failed" if moment.state == "failed" else ""
            still = " no result" if moment.state == "open" else ""
            return f"{moment.tool or 'tool'}{failed}{still}  {moment.text}"
        case "gap":
            return "nothing happened"
        case "turn" | "subagent":
            return f"{moment.text} ({count_or_zero(moment.tokens)} tokens out)"
    branch = "[abandoned branch] " if moment.is_abandoned else ""
    return f"{branch}{moment.text}"


class _Scale:
    """Draws where in the session a moment is, as a bar. Pauses (gaps) take no room on it."""

    def __init__(self, timeline: "TimelineStream", columns: int) -> None:
        self.columns = columns
        self._span = timeline.span
        # Gaps are in order of time and do not overlap.
        self._gaps, self._lasted = timeline.gaps
        self._before = [0, *accumulate(self._lasted)]
        self._whole = max(self._worked(self._span[1]), 1) if self._span else 1

    def _worked(self, moment: int) -> int:
        """Return the milliseconds from the start of the session to ``moment``, without pauses."""
        start = self._span[0] if self._span else 0
        number = bisect_right(self._gaps, moment) - 1
        idle = 0
        if number >= 0:
            begun = moment - self._gaps[number]
            idle = self._before[number] + min(begun, self._lasted[number])
        return max(moment - start - idle, 0)

    def bar(self, moment: "TimelineEntry") -> str:
        if self._span is None or moment.at is None:
            return " " * self.columns
        at = parse_time(moment.at)
        first = int(self._worked(at) / self._whole * self.columns)
        spent = self._worked(at + (moment.duration_ms or 0)) - self._worked(at)
        first = min(max(first, 0), self.columns - 1)
        filled = min(round(spent / self._whole * self.columns), self.columns - first)
        if moment.sort == "gap":
            return f"{' ' * first}┊".ljust(self.columns)
        return f"{' ' * first}{'━' * filled or '╷'}".ljust(self.columns)
