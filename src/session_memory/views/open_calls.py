"""Find what a session waits for: a call at its end that has no result yet."""

import msgspec

from session_memory.derive.agents import about
from session_memory.store import Store

LONG_MS = 60_000
# Only this many last events are read: a response has few calls, and their results follow soon.
LOOKED_AT = 60
_LAST = """
    select e.ts, k.name, m.name, t.name, e.call_id, e.summary from events e
    join names k on k.id = e.kind
    left join names m on m.id = e.marks left join names t on t.id = e.tool
    where e.session_id = :session and e.seq > :after order by e.seq
"""


class WaitingCall(msgspec.Struct, frozen=True):
    """A call without a result. ``since`` is its time in milliseconds. ``for_person``: the call asks
    a person something."""

    tool: str
    summary: str
    since: int
    for_person: bool


def waiting_call(store: Store, uid: str, now: int, least_ms: int = LONG_MS) -> WaitingCall | None:
    """Return the oldest call at the end of a session that waits for ``least_ms`` or longer.

    None if there is none.
    """
    row = store.sessions.row(uid)
    if row is None:
        return None
    after = store.events.last_seq(row.id) - LOOKED_AT
    open_ones: dict[str, WaitingCall] = {}
    decisions = about(row.flavor).decision_tools
    for ts, kind, marks, tool, call_id, summary in store.db.all(
        _LAST, {"session": row.id, "after": after}
    ):
        kinds = {kind, *(marks or "").split(",")}
        if "tool_call" in kinds and call_id and ts is not None:
            open_ones[call_id] = WaitingCall(tool or "", summary or "", ts, tool in decisions)
        elif "tool_result" in kinds:
            open_ones.pop(call_id, None)
        elif "user_msg" in kinds:
            # After a prompt, the session no longer waits for calls before it.
            open_ones.clear()
    waiting = [one for one in open_ones.values() if now - one.since >= least_ms]
    return min(waiting, key=lambda one: one.since, default=None)
