"""How all calls of a session ended that are the same as one of them."""

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
    """A call, and its result if there is one."""

    seq: int
    result: int | None = None
    is_error: bool = False


def same_calls(db: Database, session_id: int, call_id: str) -> list[CallEnding]:
    """The session's own calls with the same tool and the same line of text, in order."""
    asked = db.one(_CALL, {"session": session_id, "call": call_id})
    if asked is None or asked[0] is None or not asked[1]:
        return []
    where = {"session": session_id, "tool": asked[0], "summary": asked[1]}
    # A result may have the same line as its call: the first event with the id is the call.
    calls: dict[str, int] = {}
    for seq, call in db.all(_SAME.replace("{most}", f"{MOST:d}"), where):
        calls.setdefault(call, seq)
    endings: dict[str, tuple[int, bool]] = {}
    for seq, call, error in db.matching(_ENDINGS.replace("{session}", f"{session_id:d}"), [*calls]):
        if seq > calls[call]:
            endings[call] = (seq, bool(error))
    return [CallEnding(seq, *endings.get(call, ())) for call, seq in calls.items()]
