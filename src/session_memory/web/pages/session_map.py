"""The map of a session on a page of its own, with the dearest steps and detours."""

from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from session_memory.core.schema import Session
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.views.outline import Outline
from session_memory.web.asked import Asked
from session_memory.web.cost_map import CostBlock, cost_blocks, cost_map
from session_memory.web.map_drawing import session_map
from session_memory.web.pages.session_head import session_of, session_page
from session_memory.web.rows import session_address

LAYOUTS = {"time": "by time", "cost": "by cost", "event": "by event"}
DEAREST = 8
MOST_MARKS = 300


def map_strip(asked: Asked) -> Response:
    """The map above a transcript, as HTML."""
    found = session_of(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    by = asked.query.get("by", "time")
    answer = asked.page("map_strip", **_drawing(outline, by, session_address(found.session_uid)))
    return asked.tagged(answer, f"m{found.revision}.{by}")


def session_map_page(asked: Asked) -> Response:
    found = session_of(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    by = asked.query.get("by", "cost")
    blocks = cost_blocks(outline)
    return session_page(
        asked,
        found,
        "map",
        "map",
        **_drawing(outline, by, session_address(found.session_uid), blocks),
        sentence=_sentence(blocks),
        steps=_steps(found, outline),
        detours=_detours(outline),
        marks=_marks(outline, session_address(found.session_uid)),
    )


def _drawing(
    outline: Outline, by: str, address: str, blocks: tuple[CostBlock, ...] | None = None
) -> dict[str, Any]:
    if by == "cost":
        drawing = cost_map(cost_blocks(outline) if blocks is None else blocks)
    else:
        drawing = session_map(outline, by) if outline.events else Markup()
    return {
        "drawing": drawing,
        "by": by,
        "layouts": [(name, f"{address}/map?by={key}", key == by) for key, name in LAYOUTS.items()],
    }


def _sentence(blocks: tuple[CostBlock, ...]) -> str:
    """The largest cause of what the session cost."""
    total = sum(block.microdollars for block in blocks)
    agents = [one for block in blocks for one in block.below if one.uid]
    if not total:
        return "The log reports no usage with a price."
    dearest = max(blocks, key=lambda block: block.microdollars)
    largest = max(agents, key=lambda one: one.microdollars, default=None)
    if largest is not None and largest.microdollars * 4 > total:
        return _share("subagent", largest, total)
    return _share("turn", dearest, total)


def _share(noun: str, block: CostBlock, total: int) -> str:
    share = 100 * block.microdollars // total
    return f"{share} % of it was one {noun}: {block.title}, {money(Amount(block.microdollars))}."


def _steps(found: Session, outline: Outline) -> list[dict[str, Any]]:
    dearest = sorted(outline.spend, key=lambda one: -one[2])[:DEAREST]
    turns = {turn.number: turn for turn in outline.turns}
    address = session_address(found.session_uid)
    rows = []
    for _, seq, microdollars in dearest:
        turn = next((one for one in turns.values() if one.seq <= seq <= one.last), None)
        rows.append(
            {
                "seq": seq if seq <= outline.last_seq else None,
                "address": f"{address}/e/{seq}",
                "turn": "" if turn is None else f"turn {turn.number}: {turn.title}",
                "cost": money(Amount(microdollars)),
            }
        )
    return rows


def _detours(outline: Outline) -> list[tuple[str, str]]:
    left = sum(lane.microdollars for lane in outline.lanes if lane.sort == "left")
    return [("left behind by a rewind", money(Amount(left)))] if left else []


def _marks(outline: Outline, address: str) -> list[dict[str, Any]]:
    """The marks of the map as a list."""
    words = {"passed": "test run passed", "failed": "test run failed", "person": "you intervened"}
    return [
        {
            "what": words.get(mark.sort, mark.sort),
            "seq": mark.seq,
            "address": f"{address}/e/{mark.seq}",
        }
        for mark in outline.marks
        if mark.sort not in ("prompt", "edit")
    ][:MOST_MARKS]
