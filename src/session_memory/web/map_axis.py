"""The horizontal axis of a map: where an event lies, by time or by its number.

By time, breaks of more than five minutes are cut out; each leaves a small gap.
"""

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from session_memory.views.outline import LONG_GAP_MS, Outline

LEFT, RIGHT = 74.0, 1314.0
GAP = 12.0


class Stretch(msgspec.Struct, frozen=True):
    """A time without long breaks, and where it lies on the axis."""

    start: int
    end: int
    left: float
    right: float


class MapAxis:
    """Places on the axis. ``stretches`` is empty if the axis is that of events."""

    def __init__(self, outline: Outline, by: str) -> None:
        self.last = max(outline.last_seq, 1)
        self._placed = sorted(
            (mark.seq, mark.ts) for mark in outline.marks if mark.ts is not None
        ) + sorted((piece.seq, piece.end) for piece in outline.pieces)
        self.stretches = list(_stretches(outline)) if by == "time" else []
        self._starts = [stretch.start for stretch in self.stretches]
        self.by = "time" if self.stretches else "event"

    def at(self, seq: int | None, ts: int | None) -> float | None:
        """Where an event lies; None if its time is unknown."""
        if self.by == "event":
            return None if seq is None else LEFT + (RIGHT - LEFT) * min(seq, self.last) / self.last
        if ts is None:
            return None
        index = bisect_right(self._starts, ts) - 1
        if index < 0:
            return LEFT
        stretch = self.stretches[index]
        share = (min(ts, stretch.end) - stretch.start) / max(stretch.end - stretch.start, 1)
        return stretch.left + (stretch.right - stretch.left) * share

    def points(self) -> list[tuple[int, int]]:
        """``(x, seq)`` of some events in order: a script finds the event below the pointer."""
        found: dict[int, int] = {}
        for seq, ts in sorted(self._placed):
            x = self.at(seq, ts)
            if x is not None:
                found.setdefault(round(x), seq)
        points: list[tuple[int, int]] = []
        for x in sorted(found):
            # Clocks jump. The events on a map only go forward.
            if not points or found[x] > points[-1][1]:
                points.append((x, found[x]))
        return points


def _stretches(outline: Outline) -> Iterable[Stretch]:
    times = sorted(
        {mark.ts for mark in outline.marks if mark.ts is not None}
        | {piece.start for piece in outline.pieces}
        | {piece.end for piece in outline.pieces}
    )
    parts: list[tuple[int, int]] = []
    for moment in times:
        if parts and moment - parts[-1][1] < LONG_GAP_MS:
            parts[-1] = (parts[-1][0], moment)
        else:
            parts.append((moment, moment))
    if not parts:
        return
    # Of very many breaks, those between the shortest stretches are not shown.
    parts = _joined(parts, most=24)
    total = sum(end - start for start, end in parts) or 1
    width = RIGHT - LEFT - GAP * (len(parts) - 1)
    left = LEFT
    for start, end in parts:
        right = left + width * (end - start) / total
        yield Stretch(start, end, left, right)
        left = right + GAP


def _joined(parts: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    while len(parts) > most:
        gaps = [parts[place + 1][0] - parts[place][1] for place in range(len(parts) - 1)]
        place = gaps.index(min(gaps))
        parts[place : place + 2] = [(parts[place][0], parts[place + 1][1])]
    return parts
