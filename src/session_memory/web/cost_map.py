"""Draw the map of a session by cost: rows of blocks, from turns down to single responses.

The width of a block is its cost.
"""

import json
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import cut, safe
from session_memory.views.cost_blocks import CostBlock
from session_memory.web.map_axis import RIGHT

WIDTH, ROW, LEFT = 1320, 37, 6.0
NARROWEST = 3.0
# The usual and the largest number of rows. Subagents of subagents need further rows.
LEVELS, MOST_LEVELS = 3, 6
_FILLS = {
    "read": "m-k1",
    "written": "m-k2",
    "output": "m-k3",
    "agent": "m-k4",
    "failed": "m-bad",
    "uncached": "m-warn",
    "reread": "m-warn",
    "left": "hatch",
}
# Signs with the meaning of the colours, for people who cannot tell the colours apart.
_MARKS = {"failed": "✗", "uncached": "2×", "reread": "2×", "left": "", "agent": "◇"}


def cost_map(blocks: Sequence[CostBlock]) -> Markup:
    """Draw the map. Blocks that would be too narrow are drawn together."""
    total = sum(block.microdollars for block in blocks)
    if not total:
        return Markup()
    scale = (RIGHT - LEFT) / total
    levels = max(LEVELS, min(_depth(blocks), MOST_LEVELS))
    parts = list(_level(blocks, LEFT, scale, levels, 0))
    height = levels * ROW + 26
    for share in range(5):
        x = LEFT + (RIGHT - LEFT) * share / 4
        place = "t-end" if share == 4 else "t-mid" if share else ""
        words = money(Amount(total * share // 4)) if share else "$0"
        parts.append(
            Markup('<text x="{:.1f}" y="{}" class="{}">{}</text>').format(
                x, height - 6, place, words
            )
        )
    return Markup(
        '<svg class="wide" viewBox="0 0 {} {}" role="img" aria-label="Map by cost: {}"'
        ' data-points="{}">{}</svg>'
    ).format(
        WIDTH, height, money(Amount(total)), json.dumps(_points(blocks, scale)), _joined(parts)
    )


def _joined(parts: Sequence[Markup]) -> Markup:
    return Markup("").join(parts)


def _points(blocks: Sequence[CostBlock], scale: float) -> list[tuple[int, int]]:
    """Return ``(x, seq)`` of the events that the blocks begin with. Both numbers only increase."""
    points: list[tuple[int, int]] = []
    x = LEFT
    for block in blocks:
        inside = x
        for step in block.below or (block,):
            is_later = not points or (round(inside) > points[-1][0])
            if step.seq is not None and is_later and (not points or step.seq > points[-1][1]):
                points.append((round(inside), step.seq))
            inside += step.microdollars * scale
        x += block.microdollars * scale
    return points


def _depth(blocks: Sequence[CostBlock]) -> int:
    """Count the rows that nested blocks take."""
    return 1 + max((_depth(block.below) for block in blocks), default=-1) if blocks else 0


def _level(
    blocks: Sequence[CostBlock], left: float, scale: float, levels: int, level: int
) -> Iterator[Markup]:
    x = left
    narrow: list[CostBlock] = []
    for block in blocks:
        width = block.microdollars * scale
        if width < NARROWEST:
            narrow.append(block)
            x += width
            continue
        yield from _small_ones(narrow, x, scale, level)
        narrow = []
        yield _block(block, x, scale, level)
        if block.below and level + 1 < levels:
            yield from _level(block.below, x, scale, levels, level + 1)
        x += width
    yield from _small_ones(narrow, x, scale, level)


def _small_ones(
    blocks: Sequence[CostBlock], right: float, scale: float, level: int
) -> Iterator[Markup]:
    total = sum(block.microdollars for block in blocks)
    if total * scale < 1:
        return
    looks = {block.look for block in blocks}
    look = looks.pop() if len(looks) == 1 else "output"
    title = blocks[0].title if len(blocks) == 1 else f"{len(blocks)} small ones"
    small = CostBlock(title, total, look, blocks[0].seq)
    yield _block(small, right - total * scale, scale, level)


def _block(block: CostBlock, x: float, scale: float, level: int) -> Markup:
    width = max(block.microdollars * scale - 1.5, 0.8)
    y = level * ROW
    cost = money(Amount(block.microdollars))
    mark = _MARKS.get(block.look, "") if level else ""
    title = f"{mark} {block.title}" if mark else block.title
    room = int((width - 12) / (7.4 if level == 0 else 6.6))
    body = Markup('<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" rx="3" class="{}"/>').format(
        x, y, width, ROW - 2, _FILLS.get(block.look, "m-k3")
    )
    if room >= 4:
        weight = " t-b" if level == 0 else ""
        body += Markup('<text x="{:.1f}" y="{}" class="m-text{}">{}</text>').format(
            x + 7, y + 15, weight, cut(safe(title), room)
        )
        body += Markup('<text x="{:.1f}" y="{}" class="m-small">{}</text>').format(
            x + 7, y + 29, cut(cost, room)
        )
    elif mark and width >= 11:
        body += Markup('<text x="{:.1f}" y="{}" class="m-text t-mid">{}</text>').format(
            x + width / 2, y + 15, mark[0]
        )
    says = f"{title}: {cost}"
    return Markup('<g data-seq="{}"><title>{}</title>{}</g>').format(
        "" if block.seq is None else block.seq, safe(says), body
    )
