"""Two sessions side by side, and their maps on one axis; forks from their last common event on."""

from typing import Any

from starlette.responses import Response

from session_memory.core.schema import Session
from session_memory.pricing import shown as money
from session_memory.pricing import tree_amounts
from session_memory.render.phrases import outcome_words
from session_memory.views.figures import count_or_zero, duration
from session_memory.views.learning import show_digest
from session_memory.views.lookup import find_session
from session_memory.views.outline import Outline
from session_memory.views.session_titles import best_title
from session_memory.web.asked import Asked
from session_memory.web.map_drawing import session_map
from session_memory.web.pages.session import shown_turns
from session_memory.web.rows import dot_of, event_address, session_address, short_model

MOST_TURNS = 60


def compare(asked: Asked) -> Response:
    names = [asked.query[name] for name in ("a", "b") if name in asked.query]
    store = asked.memory.store
    uids = [find_session(store, name) for name in names]
    sessions = [one for uid in uids if (one := store.sessions.get(uid)) is not None]
    outlines = [asked.site.outline(asked.memory, one.session_uid, one.revision) for one in sessions]
    sides = [_side(asked, one, lines) for one, lines in zip(sessions, outlines, strict=True)]
    common = _common(asked, sessions) if len(sessions) == 2 else None
    return asked.page(
        "compare",
        sides=sides,
        facts=_table(sides) if len(sides) == 2 else [],
        common=common,
        given=names,
    )


def _side(asked: Asked, session: Session, outline: Outline) -> dict[str, Any]:
    store, uid = asked.memory.store, session.session_uid
    digest = show_digest(store, uid).digest
    passed = sum(one.passed is True for one in digest.tests)
    return {
        "title": best_title(store, uid),
        "address": session_address(uid),
        "dot": dot_of(session),
        "map": session_map(outline, "time") if outline.events else None,
        "turns": shown_turns(outline)[:MOST_TURNS],
        "left_out": max(len(outline.turns) - MOST_TURNS, 0),
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


def _common(asked: Asked, sessions: list[Session]) -> dict[str, str] | None:
    """The last event that both sessions have; None if they share no history."""
    store = asked.memory.store
    rows = [store.sessions.row(one.session_uid) for one in sessions]
    held = []
    for row, session in zip(rows, sessions, strict=True):
        if row is None:
            return None
        own = {uid: seq for seq, _, _, uid, _ in store.events.chain(row.id)}
        for seq, event in store.events.inherited(row.id):
            own.setdefault(event.event_uid or "", seq)
        held.append((session, own))
    shared = held[0][1].keys() & held[1][1].keys()
    if not shared:
        return None
    last = max(shared, key=lambda uid: held[0][1][uid])
    return {
        "a": event_address(sessions[0].session_uid, last),
        "b": event_address(sessions[1].session_uid, last),
        "number": f"{len(shared):,}",
    }
