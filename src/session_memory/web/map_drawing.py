"""Draw the map of a session, by time or by event.

From top to bottom: a ridge shows the cost, a band shows who worked, and lanes show subagents, forks
and abandoned branches. The page has the same marks in a list.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from markupsafe import Markup

from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import cut, safe
from session_memory.views.figures import duration, plural
from session_memory.views.outline import Outline, OutlineLane, OutlineMark
from session_memory.web.map_axis import NARROW, WIDTH, MapAxis

BINS = 124
MOST_LANES = 8
MOST_GLYPHS = 160
_RIDGE_TOP, _RIDGE, _BAND, _LANES = 22.0, 66.0, 70.0, 92.0
_FILLS = {"person": "f-person", "model": "f-model", "tools": "f-tool"}
_GLYPHS = {"passed": "f-good", "failed": "f-bad", "error": "f-bad"}
_LANE_NAMES = {"left": "", "subagent": "", "deeper": "↳ "}
# Of several marks at one place, the one that comes first here is drawn.
_ORDER = ("failed", "compaction", "commit", "passed", "error")


def session_map(
    outline: Outline,
    by: str,
    *,
    most_lanes: int = MOST_LANES,
    width: int = WIDTH,
    axis: MapAxis | None = None,
    join: int | None = None,
) -> Markup:
    """Draw the map, and add the places of events for a script.

    ``axis`` may be one that several maps share. Then the time before ``join``, the common past of
    two sessions, is hatched.
    """
    axis = axis or MapAxis(outline, by, width)
    lanes = list(_lanes(outline.lanes, axis, most_lanes))
    height = round(_LANES + 14 * max((row for row, _ in lanes), default=0) + 34)
    parts = [
        *_common_past(axis, join),
        *_ridge(outline, axis),
        *_band(outline, axis),
        *_turns(outline, axis),
        *_glyphs(outline.marks, axis),
        *(drawn for _, drawn in lanes),
        *_scale(outline, axis, height),
        Markup('<g class="hits-in"></g>'),
        Markup('<rect class="screen" x="0" y="14" width="0" height="74" rx="4" hidden=""/>'),
    ]
    return Markup(
        '<svg class="wide" viewBox="0 0 {} {}" role="img" aria-label="{}" data-points="{}"'
        ' data-gaps="{}" data-ms="{:.1f}">{}</svg>'
    ).format(
        axis.width,
        height,
        _words(outline),
        json.dumps(axis.points()),
        json.dumps(axis.gaps),
        axis.ms_per_unit,
        Markup("").join(parts),
    )


def _words(outline: Outline) -> str:
    sorts = [mark.sort for mark in outline.marks]
    return (
        f"Map of the session: {plural(len(outline.turns), 'turn')},"
        f" {plural(sorts.count('error') + sorts.count('failed'), 'failure')},"
        f" {plural(sorts.count('passed'), 'passed test run')},"
        f" {plural(len(outline.lanes), 'subagent or branch', 'subagents and branches')}"
    )


def _common_past(axis: MapAxis, join: int | None) -> Iterator[Markup]:
    x = None if join is None else axis.at(None, join)
    if x is None:
        return
    yield Markup(
        '<g><title>the common past</title><rect x="{l:.1f}" y="14" width="{w:.1f}" height="74"'
        ' class="hatch"/><path d="M{x:.1f} 4V92" class="s-ink"/></g>'
    ).format(l=axis.left, w=max(x - axis.left, 1), x=x)


def _ridge(outline: Outline, axis: MapAxis) -> Iterator[Markup]:
    """Draw the cost along the axis: the sum of the responses in each small part."""
    sums = [0] * BINS
    for one in outline.responses:
        x = axis.at(one.seq, one.ts)
        if x is not None:
            place = int((x - axis.left) / (axis.right - axis.left) * (BINS - 1))
            sums[max(0, min(place, BINS - 1))] += one.microdollars
    highest = max(sums)
    if not highest:
        return
    step = (axis.right - axis.left) / (BINS - 1)
    # Each point is the mean of three, so that a single response does not look like a needle.
    means = [
        sum(sums[max(n - 1, 0) : n + 2]) / len(sums[max(n - 1, 0) : n + 2]) for n in range(BINS)
    ]
    top = max(means) or 1
    points = [
        (axis.left + n * step, _RIDGE - (_RIDGE - _RIDGE_TOP) * mean / top)
        for n, mean in enumerate(means)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield Markup('<polygon points="{l},{b} {p} {r},{b}" class="a-accent"/>').format(
        l=axis.left, r=axis.right, b=_RIDGE, p=line
    )
    yield Markup('<polyline points="{}" class="s-accent" stroke-width="1.3"/>').format(line)


def _band(outline: Outline, axis: MapAxis) -> Iterator[Markup]:
    if axis.by == "time":
        spans = [
            (axis.at(piece.seq, piece.start), axis.at(piece.seq, piece.end), piece.who)
            for piece in outline.pieces
        ]
    else:
        places = [*(piece.seq for piece in outline.pieces[1:]), outline.last_seq]
        spans = [
            (axis.at(piece.seq, None), axis.at(end, None), piece.who)
            for piece, end in zip(outline.pieces, places, strict=False)
        ]
    # One element for each fill: a long session has hundreds of pieces.
    drawn: dict[str, list[str]] = {}
    for left, right, who in spans:
        if left is not None and right is not None and right > left:
            width = max(right - left - 0.4, 0.4)
            piece = f"M{left:.1f} {_BAND:.0f}h{width:.1f}v13h-{width:.1f}z"
            drawn.setdefault(_FILLS[who], []).append(piece)
    for fill, pieces in drawn.items():
        yield Markup('<path d="{}" class="{}"/>').format("".join(pieces), fill)


def _turns(outline: Outline, axis: MapAxis) -> Iterator[Markup]:
    """Write the numbers of turns above the ridge. A number that would overlap is left out."""
    last = -100.0
    lines = []
    for turn in outline.turns:
        x = axis.at(turn.seq, turn.started)
        if x is None or not turn.number:
            continue
        lines.append(f"M{x:.1f} 8V88")
        if x - last > 18:
            yield Markup('<text x="{:.1f}" y="14">{}</text>').format(x + 4, turn.number)
            last = x
    yield Markup('<path d="{}" class="ax"/>').format("".join(lines))


def _glyphs(marks: Sequence[OutlineMark], axis: MapAxis) -> Iterator[Markup]:
    """Draw tests, failures and commits above the band, and compactions as two lines.

    There is at most one mark for each few pixels.
    """
    chosen: dict[int, OutlineMark] = {}
    for mark in sorted(
        (one for one in marks if one.sort in _ORDER), key=lambda one: _ORDER.index(one.sort)
    ):
        x = axis.at(mark.seq, mark.ts)
        if x is not None and len(chosen) < MOST_GLYPHS:
            chosen.setdefault(round(x / 9), mark)
    for mark in sorted(chosen.values(), key=lambda one: one.seq):
        x = axis.at(mark.seq, mark.ts) or 0
        if mark.sort == "compaction":
            body = Markup('<path d="M{a:.1f} 26V84M{b:.1f} 26V84" class="s-ink"/>').format(
                a=x - 2, b=x + 2
            )
        elif mark.sort == "commit":
            body = Markup('<path d="M{:.1f} 56l5 5-5 5-5-5z" class="f-ink"/>').format(x)
        elif mark.sort == "error":
            body = Markup('<rect x="{:.1f}" y="57" width="2" height="9" class="f-bad"/>').format(x)
        else:
            tick = (
                "m-2 0l1.5 1.7 2.6-3"
                if mark.sort == "passed"
                else "m-1.6-1.6l3.2 3.2m0-3.2l-3.2 3.2"
            )
            body = Markup(
                '<circle cx="{x:.1f}" cy="61" r="4.4" class="{f}"/>'
                '<path d="M{x:.1f} 61{t}" fill="none" stroke-width="1.3" class="tick"/>'
            ).format(x=x, f=_GLYPHS[mark.sort], t=tick)
        yield Markup('<g data-seq="{}"><title>{} at event {}</title>{}</g>').format(
            mark.seq, mark.sort, mark.seq, body
        )


def _lanes(lanes: Sequence[OutlineLane], axis: MapAxis, most: int) -> Iterator[tuple[int, Markup]]:
    """Draw a bar for each subagent and branch, in the first row with room for it and its name."""
    ends: list[float] = []
    placed = sorted(lanes, key=lambda lane: (lane.start or 0, lane.seq or 0))
    for lane in placed:
        left = axis.at(lane.seq, lane.start)
        right = axis.at(lane.seq, lane.end) if axis.by == "time" else left
        if left is None or right is None:
            continue
        width = max(right - left, 4.0)
        cost = money(Amount(lane.microdollars)) if lane.microdollars else ""
        sort = _LANE_NAMES.get(lane.sort, f"{lane.sort}: ")
        name = sort + cut(safe(lane.title), 40) + (f" · {cost}" if cost else "")
        text = 6.4 * len(name) + 8
        # At the right end of the map the name stands before its bar.
        before = left + width + text > axis.right
        begin, until = (left - text, left + width) if before else (left, left + width + text)
        row = next((n for n, end in enumerate(ends) if end <= begin), len(ends))
        if row >= most:
            continue
        ends[row : row + 1] = [until]
        y = _LANES + 14 * row
        fill = {"left": "hatch", "subagent": "f-q3"}.get(lane.sort, "f-q2 s-soft")
        label = Markup('<text x="{:.1f}" y="{:.1f}" class="t-soft{}">{}</text>').format(
            left - 6 if before else left + width + 6, y + 9, " t-end" if before else "", name
        )
        bar = Markup(
            '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="9" rx="2" class="{}"/>'
        ).format(left, y, width, fill)
        yield (
            row,
            Markup('<g data-seq="{}"><title>{}</title>{}{}</g>').format(
                "" if lane.seq is None else lane.seq, name, bar, label
            ),
        )


def _scale(outline: Outline, axis: MapAxis, height: int) -> Iterator[Markup]:
    if axis.width >= NARROW:
        yield Markup(
            '<text x="66" y="62" class="t-end">$</text>'
            '<text x="66" y="81" class="t-end">at work</text>'
        )
    y = height - 8
    yield Markup('<path d="M{} {}H{}" class="ax"/>').format(axis.left, height - 22, axis.right)
    if axis.by == "event":
        for share in range(5):
            seq = outline.last_seq * share // 4
            x = axis.left + (axis.right - axis.left) * share / 4
            place = "t-end" if share == 4 else "t-mid" if share else ""
            yield Markup('<text x="{:.1f}" y="{}" class="{}">#{:,}</text>').format(x, y, place, seq)
        return
    first = axis.stretches[0].start
    last = -100.0
    for stretch in axis.stretches:
        if stretch.left - last > 90:
            words = _clock(stretch.start, first)
            yield Markup('<text x="{:.1f}" y="{}">{}</text>').format(stretch.left, y, words)
            last = stretch.left
    last = -100.0
    for before, after in zip(axis.stretches, axis.stretches[1:], strict=False):
        x = (before.right + after.left) / 2
        pause = duration((after.start - before.end) / 1000)
        label = Markup()
        if x - last > 64 and before.right - before.left > 100:
            label = Markup('<text x="{:.1f}" y="{}" class="t-end">{}</text>').format(
                x - 4, y, pause
            )
            last = x
        yield Markup(
            '<g><title>nothing for {}</title><path d="M{:.1f} 22V{}" class="ax-s dash"/>{}</g>'
        ).format(pause, x, height - 22, label)


def _clock(moment: int, first: int) -> str:
    then = datetime.fromtimestamp(moment / 1000).astimezone()
    is_same_day = then.date() == datetime.fromtimestamp(first / 1000).astimezone().date()
    return then.strftime("%H:%M" if is_same_day else "%d %b %H:%M")
