"""Find the session that carries out the accepted plan of another session.

A digest (the result of an analysis) knows only its own session. The session that carries out a plan
begins with it as its first prompt, so the two sessions are matched by the text of the plan.
"""

from session_memory.derive.agents import about
from session_memory.learn.digest import Digest
from session_memory.store import Store
from session_memory.store.continuations import begun_with_plan

# A person may look at the plan for a while before the agent begins.
_LATEST_MS = 7 * 24 * 3600 * 1000
_EARLIEST_MS = 60 * 1000
_AT_ONCE_MS = 2 * 60 * 1000
_SHORTEST = 12


def continued_in(store: Store, digest: Digest) -> str | None:
    """Return the uid of the session that carries out the plan of this digest's session, or None.

    Some agents log another text than the plan that was shown, so that no text is equal. Then the
    session that began with a plan in the same directory within two minutes is returned, if it is
    the only one.
    """
    row = store.sessions.row(digest.session_uid)
    if digest.outcome.reason != "plan" or row is None or row.ended_at is None:
        return None
    begin, end = row.ended_at - _EARLIEST_MS, row.ended_at + _LATEST_MS
    others = begun_with_plan(store.db, row.id, digest.flavor, begin, end)
    plan = _plan(store, row.id, digest)
    preamble = about(digest.flavor).preamble
    for other in others:
        before = preamble.match(other.summary) if preamble is not None else None
        if _is_same(plan, other.summary[before.end() :] if before else other.summary):
            return other.uid
    latest = row.ended_at + _AT_ONCE_MS
    near = [one.uid for one in others if one.cwd == row.cwd and one.started_at <= latest]
    return near[0] if len(near) == 1 else None


def _is_same(plan: str, other: str) -> bool:
    """Whether two beginnings of plans agree. Both may be cut, at different places."""
    plan, other = plan.rstrip("…").strip(), other.rstrip("…").strip()
    if min(len(plan), len(other)) < _SHORTEST:
        return False
    return plan.startswith(other) or other.startswith(plan)


def _plan(store: Store, session_id: int, digest: Digest) -> str:
    """Return the beginning of the plan that was accepted at the end of the digest's session."""
    wanted = digest.outcome.evidence[0] if digest.outcome.evidence else ""
    events = store.events.each_of(session_id, digest.session_uid)
    return next((event.summary for event in events if event.event_uid == wanted), "")
