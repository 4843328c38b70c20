"""The map of a session by cost: blocks as wide as they were dear, from turns down to responses.

The blocks below a block add up to it exactly.
"""

from collections.abc import Iterator, Sequence

import msgspec
from markupsafe import Markup

from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import cut, safe
from session_memory.views.outline import Outline
from session_memory.web.map_axis import RIGHT

WIDTH, ROW, LEFT = 1320, 37, 6.0
NARROWEST = 3.0


class CostBlock(msgspec.Struct, frozen=True):
    """A part of the cost. ``below`` add up to ``microdollars``, unless there are none."""

    title: str
    microdollars: int
    fill: str
    seq: int | None = None
    uid: str | None = None
    below: tuple["CostBlock", ...] = ()


def cost_blocks(outline: Outline) -> tuple[CostBlock, ...]:
    """The turns with what they cost, subagents included, and what each is made of."""
    turns = []
    placed = [lane for lane in outline.lanes if lane.uid and lane.sort == "subagent"]
    for turn in outline.turns:
        mine = [
            lane for lane in placed if lane.seq is not None and turn.seq <= lane.seq <= turn.last
        ]
        placed = [lane for lane in placed if lane not in mine]
        agents = tuple(
            CostBlock(lane.title, lane.microdollars, "m-k2", lane.seq, lane.uid)
            for lane in mine
            if lane.microdollars
        )
        own = _responses(outline, turn.seq, turn.last)
        itself = CostBlock("itself", turn.microdollars, "m-k1", turn.seq, below=own)
        below = tuple(one for one in (itself, *agents) if one.microdollars)
        title = f"{turn.number} {turn.title}" if turn.number else "before the first prompt"
        total = turn.microdollars + sum(one.microdollars for one in agents)
        turns.append(
            CostBlock(title, total, "hatch" if turn.is_left else "m-k1", turn.seq, below=below)
        )
    unplaced = tuple(
        CostBlock(lane.title, lane.microdollars, "m-k2", None, lane.uid)
        for lane in placed
        if lane.microdollars
    )
    if unplaced:
        total = sum(one.microdollars for one in unplaced)
        turns.append(CostBlock("subagents that no call names", total, "m-k2", below=unplaced))
    return tuple(turn for turn in turns if turn.microdollars)


def _responses(outline: Outline, first: int, last: int) -> tuple[CostBlock, ...]:
    """The single responses of a turn. Usage without a place counts in the last turn."""
    is_last = outline.turns[-1].seq == first
    found = [
        (seq, microdollars)
        for _, seq, microdollars in outline.spend
        if first <= seq <= last or (is_last and seq > last)
    ]
    return tuple(
        CostBlock(f"#{seq}", microdollars, "m-k3", seq)
        for seq, microdollars in found
        if microdollars
    )


def cost_map(blocks: Sequence[CostBlock]) -> Markup:
    """The drawing. Blocks that would be too narrow are drawn together."""
    total = sum(block.microdollars for block in blocks)
    if not total:
        return Markup()
    scale = (RIGHT - LEFT) / total
    parts = list(_level(blocks, LEFT, scale, 0))
    rows = 3
    height = rows * ROW + 26
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
        '<svg class="wide" viewBox="0 0 {} {}" role="img" aria-label="Map by cost: {}">{}</svg>'
    ).format(WIDTH, height, money(Amount(total)), Markup("").join(parts))


def _level(blocks: Sequence[CostBlock], left: float, scale: float, level: int) -> Iterator[Markup]:
    x = left
    waiting = 0
    number = 0
    for block in blocks:
        width = block.microdollars * scale
        if width < NARROWEST:
            waiting += block.microdollars
            number += 1
            x += width
            continue
        if waiting:
            yield _block(
                CostBlock(f"{number} small ones", waiting, "m-k3"),
                x - waiting * scale,
                scale,
                level,
            )
            waiting = number = 0
        yield _block(block, x, scale, level)
        if block.below and level < 2:
            yield from _level(block.below, x, scale, level + 1)
        x += width
    if waiting and waiting * scale >= 1:
        yield _block(
            CostBlock(f"{number} small ones", waiting, "m-k3"), x - waiting * scale, scale, level
        )


def _block(block: CostBlock, x: float, scale: float, level: int) -> Markup:
    width = max(block.microdollars * scale - 1.5, 0.8)
    y = level * ROW
    cost = money(Amount(block.microdollars))
    room = int((width - 12) / (7.4 if level == 0 else 6.6))
    body = Markup('<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" rx="3" class="{}"/>').format(
        x, y, width, ROW - 2, block.fill
    )
    if room >= 4:
        weight = " t-b" if level == 0 else ""
        body += Markup('<text x="{:.1f}" y="{}" class="m-text{}">{}</text>').format(
            x + 7, y + 15, weight, cut(safe(block.title), room)
        )
        body += Markup('<text x="{:.1f}" y="{}" class="m-small">{}</text>').format(
            x + 7, y + 29, cut(cost, room)
        )
    says = f"{block.title}: {cost}"
    group = Markup('<g data-seq="{}"><title>{}</title>{}</g>').format(
        "" if block.seq is None else block.seq, safe(says), body
    )
    return group
