"""The dearest sessions of a period, without a report about all of them."""

from heapq import nsmallest

import msgspec

from session_memory.core.schema import Session
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.pricing.figure_sets import keep_figures
from session_memory.pricing.kept_costs import dear_sessions
from session_memory.pricing.sessions import subagents
from session_memory.store import Store
from session_memory.views.cost_days import offsets


class DearSession(msgspec.Struct, frozen=True):
    """``own`` is what a session used itself, ``total`` with its subagents, in micro-dollars."""

    session: Session
    own: int
    total: int


def dearest_sessions(
    store: Store, *, since: int | None, until: int | None, limit: int
) -> list[DearSession]:
    """The sessions that cost most with their subagents, in the order of a cost report by session.

    Subagents count with their sessions and are not listed. ``until`` is not included."""
    clock, usage = offsets(None), UsageFilter(since=since, until=until)
    keep_figures(store, clock)
    with store.db.snapshot():
        own = dear_sessions(store, usage, clock, limit * 8)
        if own is None:
            own = _amounts(store, usage)
        parents = {child: parent for parent, below in subagents(store).items() for child in below}
        totals = _totals(own, parents)
        listed = ((-total, uid) for uid, total in totals.items() if uid not in parents)
        found: list[DearSession] = []
        # Some may be subagents whose parent is unknown, or parents that are not in the store.
        for less, uid in nsmallest(limit * 8, listed):
            session = store.sessions.get(uid)
            if session is not None and session.relation != "subagent":
                found.append(DearSession(session, own.get(uid, 0), -less))
    return found[:limit]


def _amounts(store: Store, usage: UsageFilter) -> dict[str, int]:
    own: dict[str, int] = {}
    for charge in charges(store, ("session",), usage):
        uid = str(charge.key[0])
        own[uid] = own.get(uid, 0) + charge.microdollars
    return own


def _totals(own: dict[str, int], parents: dict[str, str]) -> dict[str, int]:
    """What each session cost, with all sessions below it. Logs may claim a circle."""
    totals = dict(own)
    for uid, amount in own.items():
        seen, above = {uid}, parents.get(uid)
        while above is not None and above not in seen:
            totals[above] = totals.get(above, 0) + amount
            seen.add(above)
            above = parents.get(above)
    return totals
