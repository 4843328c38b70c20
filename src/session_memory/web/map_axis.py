"""The horizontal axis of the map of a session: the place of each event, by time or by its number.

By time, breaks of more than five minutes are cut out. Each of them leaves a small gap.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.views.outline import Outline
from session_memory.views.work_pieces import LONG_GAP_MS

WIDTH = 1320
# A map below the width NARROW has no words at its left, so its axis begins further left.
NARROW, LEFT, NARROW_LEFT, RIGHT_EDGE = 700, 74.0, 6.0, 6.0
GAP = 12.0
RIGHT = WIDTH - RIGHT_EDGE


class Stretch(msgspec.Struct, frozen=True):
    """A time without long breaks, and its left and right end on the axis."""

    start: int
    end: int
    left: float
    right: float


class MapAxis:
    """Computes places on the axis. ``stretches`` is empty if the axis is by event number."""

    def __init__(
        self,
        outline: Outline,
        by: str,
        width: int = WIDTH,
        stretches: list[Stretch] | None = None,
    ) -> None:
        self.width = width
        self.left = LEFT if width >= NARROW else NARROW_LEFT
        self.right = width - RIGHT_EDGE
        self.last = max(outline.last_seq, 1)
        self._placed = sorted(
            (mark.seq, mark.ts) for mark in outline.marks if mark.ts is not None
        ) + sorted((piece.seq, piece.end) for piece in outline.pieces)
        if stretches is None:
            parts = _active_times(outline) if by == "time" else []
            stretches = list(_placed_parts(parts, self.left, self.right))
        self.stretches = stretches
        self._starts = [stretch.start for stretch in self.stretches]
        self.by = "time" if self.stretches else "event"

    def at(self, seq: int | None, ts: int | None) -> float | None:
        """Return the place of an event on the axis; None if its time is unknown."""
        if self.by == "event":
            share = min(seq or 0, self.last) / self.last
            return None if seq is None else self.left + (self.right - self.left) * share
        if ts is None:
            return None
        index = bisect_right(self._starts, ts) - 1
        if index < 0:
            return self.left
        stretch = self.stretches[index]
        share = (min(ts, stretch.end) - stretch.start) / max(stretch.end - stretch.start, 1)
        return stretch.left + (stretch.right - stretch.left) * share

    @property
    def ms_per_unit(self) -> float:
        """The milliseconds of a unit of the axis; 0 if the axis is by event number."""
        width = sum(one.right - one.left for one in self.stretches)
        return sum(one.end - one.start for one in self.stretches) / width if width else 0.0

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """The places of the breaks that were cut out."""
        pairs = zip(self.stretches, self.stretches[1:], strict=False)
        return [(round(before.right, 1), round(after.left, 1)) for before, after in pairs]

    def points(self) -> list[tuple[int, int]]:
        """Return ``(x, seq)`` of some events in order.

        With it a script finds the event below the pointer.
        """
        found: dict[int, int] = {}
        for seq, ts in sorted(self._placed):
            x = self.at(seq, ts)
            if x is not None:
                found.setdefault(round(x), seq)
        points: list[tuple[int, int]] = []
        for x in sorted(found):
            # Clocks may jump back. An event that would lie before an earlier one is left out.
            if not points or found[x] > points[-1][1]:
                points.append((x, found[x]))
        return points


def shared_axes(outlines: Sequence[Outline], joins: Sequence[int | None]) -> list[MapAxis]:
    """Make axes of the same scale for several maps: the same time takes as much room in each.

    Breaks are cut out without a gap. ``joins`` has a moment for each map, such as the last common
    event of two forks; the axes are shifted so that these moments lie at the same place. Without
    them, the maps begin at the same place.
    """
    parts = [_active_times(outline) for outline in outlines]
    before = [
        sum(min(end, join) - start for start, end in some if start < join) if join else 0
        for some, join in zip(parts, joins, strict=True)
    ]
    totals = [sum(end - start for start, end in some) for some in parts]
    after = max((total - own for total, own in zip(totals, before, strict=True)), default=0)
    scale = (RIGHT - LEFT) / max(max(before, default=0) + after, 1)
    axes = []
    for outline, some, own in zip(outlines, parts, before, strict=True):
        x = LEFT + (max(before) - own) * scale
        stretches = []
        for start, end in some:
            stretches.append(Stretch(start, end, x, x + (end - start) * scale))
            x += (end - start) * scale
        axes.append(MapAxis(outline, "time", stretches=stretches))
    return axes


def _active_times(outline: Outline) -> list[tuple[int, int]]:
    """Return the times of a session without its long breaks: ``(start, end)`` of each part."""
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
    # If there are very many breaks, the shortest of them are not cut out.
    return _joined(parts, most=24)


def _placed_parts(parts: list[tuple[int, int]], left: float, right_end: float) -> Iterable[Stretch]:
    if not parts:
        return
    total = sum(end - start for start, end in parts) or 1
    gap = min(GAP, (right_end - left) / 3 / len(parts))
    width = right_end - left - gap * (len(parts) - 1)
    for start, end in parts:
        right = left + width * (end - start) / total
        yield Stretch(start, end, left, right)
        left = right + gap


def _joined(parts: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    while len(parts) > most:
        gaps = [parts[place + 1][0] - parts[place][1] for place in range(len(parts) - 1)]
        place = gaps.index(min(gaps))
        parts[place : place + 2] = [(parts[place][0], parts[place + 1][1])]
    return parts
