"""Compare a session with similar ones: what they cost and how long they took."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from session_memory.core.schema import Session
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.views.figures import plural
from session_memory.views.session_pages import PageRow, rows_of
from session_memory.web.asked import Asked
from session_memory.web.rows import list_row

MOST_COMPARED, MOST_LISTED = 30, 5
# The median of fewer sessions says nothing.
LEAST = 3


def like_sessions(asked: Asked, found: Session) -> dict[str, Any]:
    """Return the most similar sessions, and a sentence that compares this one with their median."""
    store = asked.memory.store
    result = asked.memory.similar(session=found.session_uid, limit=MOST_COMPARED)
    sessions = [store.sessions.get(one.session.uid) for one in result.found]
    rows = rows_of(store, [one for one in sessions if one is not None])
    own = rows_of(store, [found])[0]
    return {
        "sentence": _sentence(own, rows),
        "rows": [list_row(row) for row in rows[:MOST_LISTED]],
    }


def _sentence(own: PageRow, others: Sequence[PageRow]) -> str:
    """Compare cost, time and turns of this session with the medians of the others."""
    if len(others) < LEAST:
        return ""
    parts = []
    typical = _median(row.amount.microdollars for row in others)
    if typical and own.amount.microdollars:
        times = _times(own.amount.microdollars, typical)
        parts.append(f"{times} the cost ({money(Amount(round(typical)))})")
    for name, values in (
        ("the time", [row.session.cost.wall_clock_s or 0 for row in (own, *others)]),
        ("the turns", [row.session.cost.turns or 0 for row in (own, *others)]),
    ):
        mine, usual = values[0], _median(values[1:])
        if mine and usual:
            parts.append(f"{_times(mine, usual)} {name}")
    if not parts:
        return ""
    return f"Beside the median of {plural(len(others), 'session')} like this: {', '.join(parts)}."


def _median(values: Iterable[float]) -> float:
    return median([value for value in values if value] or [0])


def _times(mine: float, usual: float) -> str:
    return f"{mine / usual:.1f} times"
