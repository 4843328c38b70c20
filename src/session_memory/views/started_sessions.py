"""Find the sessions that a session started and the calls that started them, without all events."""

import msgspec

from session_memory.core.time import parse_time
from session_memory.pricing import tree_amounts
from session_memory.store import Store
from session_memory.views.outline import OutlineLane
from session_memory.views.session import children_of
from session_memory.views.session_titles import best_titles


class StartedSessions(msgspec.Struct, frozen=True):
    """The sessions that a session started (``lanes``). ``calls`` has the subagents that each call
    started, by call id. ``unplaced`` are subagents that no call of the session names."""

    lanes: tuple[OutlineLane, ...] = ()
    calls: dict[str, tuple[str, ...]] = {}
    unplaced: tuple[str, ...] = ()


def started_sessions(store: Store, read: Store, uid: str) -> StartedSessions:
    """Return the subagents and forks of a session.

    ``read`` is the store with its events: for an evicted session, a copy made from the archive.
    """
    children = children_of(store, uid)
    row = read.sessions.row(uid) if children else None
    if row is None:
        return StartedSessions()
    subagents = [child for child in children if child.relation == "subagent"]
    named = {child.spawn_call_id for child in subagents if child.spawn_call_id}
    there = read.events.calls_among(row.id, sorted(named))
    calls: dict[str, tuple[str, ...]] = {}
    for child in subagents:
        if (call := child.spawn_call_id) in there and call is not None:
            calls[call] = (*calls.get(call, ()), child.session_uid)
    uids = [child.session_uid for child in children]
    titles, amounts = best_titles(store, uids), tree_amounts(store, uids)
    lanes = tuple(
        OutlineLane(
            sort=child.relation or "child",
            title=titles[child.session_uid],
            seq=None,
            start=None if child.started_at is None else parse_time(child.started_at),
            end=None if child.ended_at is None else parse_time(child.ended_at),
            microdollars=amounts[child.session_uid].microdollars,
            uid=child.session_uid,
        )
        for child in children
    )
    placed = {one for some in calls.values() for one in some}
    unplaced = tuple(one.session_uid for one in subagents if one.session_uid not in placed)
    return StartedSessions(lanes, calls, unplaced)
