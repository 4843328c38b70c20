"""The page with the map of a session, its dearest responses and its detours."""

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from session_memory.core.schema import Session
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import cut
from session_memory.views.cost_blocks import (
    CostBlock,
    cost_blocks,
    detour_sums,
    largest_cause,
)
from session_memory.views.outline import Outline
from session_memory.web.asked import Asked
from session_memory.web.charts import share_bar
from session_memory.web.cost_map import cost_map
from session_memory.web.map_axis import WIDTH
from session_memory.web.map_drawing import MOST_LANES, session_map
from session_memory.web.pages.like_sessions import like_sessions
from session_memory.web.pages.session_head import session_of, session_page
from session_memory.web.rows import session_address

LAYOUTS = {"time": "by time", "cost": "by cost", "event": "by event"}
DEAREST = 8
MOST_MARKS = 300
MOST_ROWS = 200
# The map above a transcript stays on the screen, so it has few rows.
STRIP_LANES = 3
NARROWEST = 280
LONGEST_TITLE = 70
DETOUR_NAMES = {
    "failed": "failed, until it worked",
    "uncached": "paid twice, the cache was gone",
    "reread": "paid twice, read again after a compaction",
    "left": "left behind",
}
MADE_OF = {"read": "mostly cache reads", "written": "mostly new input", "output": "mostly output"}


def map_strip(asked: Asked) -> Response:
    """Return the small map above a transcript, as HTML."""
    found = session_of(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    by = asked.query.get("by", "time")
    width = max(min(asked.number("width", WIDTH), WIDTH), NARROWEST)
    drawing = _drawing(asked, outline, by, most_lanes=STRIP_LANES, width=width)
    return asked.tagged(asked.page("map_strip", **drawing), f"m{outline.revision}.{by}.{width}")


def session_map_page(asked: Asked) -> Response:
    found = session_of(asked)
    if asked.part == "like":
        return asked.page("map", like=like_sessions(asked, found))
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    by = asked.query.get("by", "cost")
    blocks = cost_blocks(asked.memory.store, outline)
    return session_page(
        asked,
        found,
        "map",
        "map",
        **_drawing(asked, outline, by, blocks),
        **_cause(found, outline, blocks),
        steps=_steps(found, outline),
        detours=_detours(outline),
        detoured=_detoured(outline),
        rows=list(_rows(blocks, session_address(found.session_uid))),
        like=None,
        last_seq=outline.last_seq,
        marks=_marks(outline, session_address(found.session_uid)),
    )


def _drawing(
    asked: Asked,
    outline: Outline,
    by: str,
    blocks: tuple[CostBlock, ...] | None = None,
    most_lanes: int = MOST_LANES,
    width: int = WIDTH,
) -> dict[str, Any]:
    address = session_address(outline.uid)
    if by == "cost":
        drawing = cost_map(cost_blocks(asked.memory.store, outline) if blocks is None else blocks)
    else:
        drawing = Markup()
        if outline.events:
            drawing = session_map(outline, by, most_lanes=most_lanes, width=width)
    return {
        "drawing": drawing,
        "by": by,
        "layouts": [(name, f"{address}/map?by={key}", key == by) for key, name in LAYOUTS.items()],
    }


def _cause(found: Session, outline: Outline, blocks: tuple[CostBlock, ...]) -> dict[str, Any]:
    """Return one sentence about the largest cause of what the session cost."""
    cause = largest_cause(outline, blocks)
    if cause is None:
        return {"sentence": "The log reports no usage with a price.", "which": ""}
    total = sum(block.microdollars for block in blocks)
    share = 100 * cause.microdollars // total
    address = session_address(found.session_uid)
    return {
        "sentence": f"{share} % of it was {cause.what}:",
        "which": cut(cause.which, LONGEST_TITLE),
        "which_address": f"{address}/e/{cause.seq}" if cause.seq is not None else f"{address}/cost",
        "cause_cost": money(Amount(cause.microdollars)),
    }


def _steps(found: Session, outline: Outline) -> list[dict[str, Any]]:
    dearest = sorted(outline.responses, key=lambda one: -one.microdollars)[:DEAREST]
    address = session_address(found.session_uid)
    rows = []
    for one in dearest:
        turn = next((t for t in reversed(outline.turns) if t.seq <= one.seq), None)
        is_placed = one.seq <= outline.last_seq
        rows.append(
            {
                "seq": one.seq if is_placed else None,
                "address": f"{address}/e/{one.seq}",
                "turn": "" if turn is None else f"turn {turn.name}" if turn.number else turn.name,
                "why": DETOUR_NAMES.get(one.detour, MADE_OF[one.made_of]),
                "cost": money(Amount(one.microdollars)),
            }
        )
    return rows


def _detours(outline: Outline) -> list[dict[str, Any]]:
    sums = detour_sums(outline)
    largest = max(sums.values(), default=1)
    fills = {"failed": "f-bad", "uncached": "f-warn", "reread": "f-warn", "left": "f-idle"}
    return [
        {
            "name": DETOUR_NAMES[sort],
            "bar": share_bar(amount / largest, fills[sort]),
            "cost": money(Amount(amount)),
            "share": f"{100 * amount // max(outline.microdollars, 1)} %",
        }
        for sort, amount in sums.items()
    ]


def _detoured(outline: Outline) -> str:
    total = sum(detour_sums(outline).values())
    itself = money(Amount(outline.microdollars))
    return f"{money(Amount(total))} of the {itself} it used itself, measured" if total else ""


def _rows(blocks: tuple[CostBlock, ...], address: str, level: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the blocks of the map by cost as rows of a table: turns and their steps."""
    for block in blocks[:MOST_ROWS]:
        yield {
            "title": block.title,
            "level": level,
            "look": DETOUR_NAMES.get(block.look, ""),
            "cost": money(Amount(block.microdollars)),
            "address": session_address(block.uid)
            if block.uid
            else ("" if block.seq is None else f"{address}/e/{block.seq}"),
        }
        deeper = level and any(part.uid and part.uid != block.uid for part in block.below)
        if not level or deeper:
            yield from _rows(block.below, address, min(level + 1, 3))


def _marks(outline: Outline, address: str) -> list[dict[str, Any]]:
    """Return the marks of the map as a list."""
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
