"""Find the sessions of a period that cost most, without a report about all sessions."""

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
    """A session with its cost in micro-dollars: ``own`` without, ``total`` with its subagents."""

    session: Session
    own: int
    total: int


def dearest_sessions(
    store: Store, *, since: int | None, until: int | None, limit: int
) -> list[DearSession]:
    """Return the sessions that cost most with their subagents, in the order of a cost report.

    Subagents are not listed; their cost counts for their session. ``until`` is not included."""
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
        # More than ``limit`` are looked at, because some of them are left out: subagents whose
        # parent is unknown, and parents that are not in the store.
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
    """Return the cost of each session with all subagents below it.

    Logs may claim that two sessions started each other. Each is counted once.
    """
    totals = dict(own)
    for uid, amount in own.items():
        seen, above = {uid}, parents.get(uid)
        while above is not None and above not in seen:
            totals[above] = totals.get(above, 0) + amount
            seen.add(above)
            above = parents.get(above)
    return totals
