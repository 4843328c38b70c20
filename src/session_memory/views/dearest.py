"""Find the sessions that cost most with their subagents, without a report about all sessions."""

from heapq import nsmallest

import msgspec

from session_memory.core.schema import Session
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.pricing.figure_sets import keep_figures
from session_memory.pricing.kept_costs import dear_sessions
from session_memory.pricing.sessions import session_amounts
from session_memory.store import Store
from session_memory.store.session_pages import SessionPages
from session_memory.views.cost_days import offsets
from session_memory.views.sessions import Filter, conditions_of, list_sessions

_AT_ONCE = 200


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
        parents = {child: parent for parent, child, _ in SessionPages(store.db).started()}
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


def dearest_listed(store: Store, filters: Filter, limit: int) -> list[Session]:
    """Return the ``limit`` most expensive sessions of a folded list, the most expensive first.

    A folded list leaves out subagents whose session is listed. Their cost counts for the session.
    """
    pages, conditions = SessionPages(store.db), conditions_of(store, filters)
    totals = _family_totals(store)
    # These are the best sessions by their own cost. For sessions without subagents, own cost and
    # total are equal, so no session without subagents is missed.
    alone = list_sessions(store, filters, sort="cost", limit=limit).sessions
    unknown = [one.session_uid for one in alone if one.session_uid not in totals]
    for uid, amount in session_amounts(store, unknown).items():
        totals[uid] = amount.microdollars
    found = {one.session_uid: one for one in alone}
    ranked = sorted((uid for uid, total in totals.items() if total), key=lambda uid: -totals[uid])
    for first in range(0, len(ranked), _AT_ONCE):
        some = ranked[first : first + _AT_ONCE]
        costs = sorted((totals[uid] for uid in found), reverse=True)
        if len(costs) >= limit and totals[some[0]] < costs[limit - 1]:
            break
        found.update((one.session_uid, one) for one in pages.among(conditions, some))
    listed = sorted(found.values(), key=lambda one: one.session_uid)
    listed.sort(key=lambda one: (totals.get(one.session_uid, 0), one.ended_at or ""), reverse=True)
    return listed[:limit]


def _family_totals(store: Store) -> dict[str, int]:
    """Return the cost with subagents of each session that has subagents or is one, and perhaps of
    other sessions.

    A subagent whose parent is not in the store gets the sum of all subagents of that parent,
    because the folded list shows only one of them.
    """
    clock = offsets(None)
    keep_figures(store, clock)
    with store.db.snapshot():
        own = dear_sessions(store, UsageFilter(), clock, 1)
        if own is None:
            own = _amounts(store, UsageFilter())
        started = SessionPages(store.db).started()
    totals = _totals(own, {child: parent for parent, child, _ in started})
    for parent, child, is_stored in started:
        if not is_stored:
            totals[child] = totals.get(parent, 0)
    return totals


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
