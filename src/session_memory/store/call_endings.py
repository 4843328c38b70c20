"""Find the calls of a session that repeat one of its calls, and how each of them ended."""

import msgspec

from session_memory.store.database import Database

_CALL = """
    select tool, summary from events where session_id = :session and call_id = :call
    order by seq limit 1
"""
_SAME = """
    select seq, call_id from events
    where session_id = :session and tool = :tool and summary = :summary and call_id is not null
    order by seq limit {most}
"""
_ENDINGS = """
    select seq, call_id, is_error from events
    where session_id = {session} and call_id in ({keys}) order by seq
"""
MOST = 1000


class CallEnding(msgspec.Struct, frozen=True):
    """A call and its last result, by their seqs. ``result`` is None if there is no result."""

    seq: int
    result: int | None = None
    is_error: bool = False


def same_calls(db: Database, session_id: int, call_id: str) -> list[CallEnding]:
    """Return the session's calls with the tool and the summary of ``call_id``, in order.

    Calls that the session inherits are left out. Empty if the call has no tool or no summary.
    """
    asked = db.one(_CALL, {"session": session_id, "call": call_id})
    if asked is None or asked[0] is None or not asked[1]:
        return []
    where = {"session": session_id, "tool": asked[0], "summary": asked[1]}
    # A result may have the tool and the summary of its call, so the first event with an id is the
    # call.
    calls: dict[str, int] = {}
    for seq, call in db.all(_SAME.replace("{most}", f"{MOST:d}"), where):
        calls.setdefault(call, seq)
    endings: dict[str, tuple[int, bool]] = {}
    for seq, call, error in db.matching(_ENDINGS.replace("{session}", f"{session_id:d}"), [*calls]):
        if seq > calls[call]:
            endings[call] = (seq, bool(error))
    return [CallEnding(seq, *endings.get(call, ())) for call, seq in calls.items()]
