"""The page that compares two sessions: facts side by side, maps on one axis, turns in pairs.

For two forks, the turns up to their last common event are listed once.
"""

from itertools import zip_longest
from typing import Any

import msgspec
from starlette.responses import Response

from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.pricing import shown as money
from session_memory.pricing import tree_amounts
from session_memory.render.phrases import outcome_words
from session_memory.store import Store
from session_memory.views.figures import count_or_zero, duration
from session_memory.views.learning import show_digest
from session_memory.views.lookup import find_session
from session_memory.views.outline import Outline
from session_memory.views.session_titles import best_title
from session_memory.web.asked import Asked
from session_memory.web.map_axis import shared_axes
from session_memory.web.map_drawing import session_map
from session_memory.web.pages.session import shown_turns
from session_memory.web.rows import dot_of, event_address, session_address, short_model

MOST_TURNS = 60


class CommonPast(msgspec.Struct, frozen=True):
    """The last event that two sessions share, its seq in each of them, and its time. ``number`` is
    how many events they share."""

    event_uid: str
    number: int
    seqs: tuple[int, int]
    ts: int | None


def compare(asked: Asked) -> Response:
    names = [asked.query[name] for name in ("a", "b") if name in asked.query]
    store = asked.memory.store
    uids = [find_session(store, name) for name in names]
    sessions = [one for uid in uids if (one := store.sessions.get(uid)) is not None]
    outlines = [asked.site.outline(asked.memory, one.session_uid, one.revision) for one in sessions]
    sides = [_side(asked, one) for one in sessions]
    if len(sides) != 2:
        return asked.page("compare", sides=sides, given=names)
    common = common_past(store, sessions)
    return asked.page(
        "compare",
        sides=sides,
        given=names,
        facts=_table(sides),
        common=common,
        ends=[event_address(one.session_uid, common.event_uid) for one in sessions]
        if common
        else [],
        maps=_maps(outlines, sides, common),
        pairs=turn_pairs(outlines, common)[:MOST_TURNS],
        left_out=max(max(len(one.turns) for one in outlines) - MOST_TURNS, 0),
    )


def _maps(
    outlines: list[Outline], sides: list[dict[str, Any]], common: CommonPast | None
) -> list[dict[str, Any]]:
    """Draw both maps on one axis. Maps of forks are aligned at their last common event."""
    join = None if common is None else common.ts
    axes = shared_axes(outlines, [join, join])
    return [
        {"side": side, "drawing": session_map(one, "time", axis=axis, join=join)}
        for one, axis, side in zip(outlines, axes, sides, strict=True)
        if one.events
    ]


def turn_pairs(outlines: list[Outline], common: CommonPast | None) -> list[dict[str, Any]]:
    """Return the turns of the common past, then the turns of both sessions in pairs."""
    ends = common.seqs if common else (-1, -1)
    shown = [shown_turns(one) for one in outlines]
    past = [turn for turn in shown[0] if turn.seq <= ends[0]]
    past = past or [turn for turn in shown[1] if turn.seq <= ends[1]]
    later = [
        [turn for turn in some if turn.seq > end] for some, end in zip(shown, ends, strict=True)
    ]
    return [
        *({"both": turn, "sides": []} for turn in past),
        *({"both": None, "sides": list(pair)} for pair in zip_longest(*later)),
    ]


def _side(asked: Asked, session: Session) -> dict[str, Any]:
    store, uid = asked.memory.store, session.session_uid
    digest = show_digest(store, uid).digest
    passed = sum(one.passed is True for one in digest.tests)
    return {
        "title": best_title(store, uid),
        "address": session_address(uid),
        "dot": dot_of(session),
        "facts": {
            "outcome": outcome_words(session),
            "cost with subagents": money(tree_amounts(store, [uid])[uid]),
            "time": duration(session.cost.wall_clock_s) if session.cost.wall_clock_s else "",
            "turns": f"{session.cost.turns:,}",
            "tokens out": count_or_zero(session.cost.output_tokens),
            "model": short_model(session.model),
            "files edited": f"{sum(1 for one in digest.files if one.edits):,}",
            "errors": f"{digest.markers.error:,}",
            "test runs passed": f"{passed} of {len(digest.tests)}" if digest.tests else "none",
            "commits": f"{len(digest.commits):,}",
        },
    }


def _table(sides: list[dict[str, Any]]) -> list[tuple[str, str, str, bool]]:
    first, second = (side["facts"] for side in sides)
    return [
        (name, first[name], second[name], first[name] != second[name])
        for name in first
        if first[name] or second[name]
    ]


def common_past(store: Store, sessions: list[Session]) -> CommonPast | None:
    """Return the last event that both sessions have; None if they share no history."""
    held: list[dict[str, int]] = []
    times: dict[str, str | None] = {}
    rows = [store.sessions.row(one.session_uid) for one in sessions]
    for row in rows:
        if row is None:
            return None
        own = {uid: seq for seq, _, _, uid, _ in store.events.chain(row.id)}
        for seq, event in store.events.inherited(row.id):
            own.setdefault(event.event_uid or "", seq)
            times[event.event_uid or ""] = event.ts
        held.append(own)
    shared = held[0].keys() & held[1].keys()
    if not shared:
        return None
    last = max(shared, key=lambda uid: held[0][uid])
    ts = times.get(last)
    seqs = (held[0][last], held[1][last])
    return CommonPast(last, len(shared), seqs, None if ts is None else parse_time(ts))
