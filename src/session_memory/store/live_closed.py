"""Closed live sessions that retention may evict, with the size of their rows.

Forks and sessions that were forked are not listed, because several sessions need the same rows.
Sessions that were imported from another runtime are not listed either.
"""

from typing import NamedTuple

from session_memory.store.database import Database

_BYTES = " + ".join(
    f"coalesce(octet_length(m.{name}), 0)" for name in ("content", "blocks", "tool_calls", "meta")
)
# An estimate for the ids and times of a row, and its entries in two indexes.
_ROW_BYTES = 100
_CLOSED = f"""
    select s.session_id, s.revision,
        coalesce((select max(u.id) from live_usage u where u.session_key = s.id), 0),
        case when s.kind = 'subagent' and s.lifecycle = 'ephemeral' then 1 else 0 end,
        coalesce((select sum({_BYTES} + {_ROW_BYTES}) from live_lanes l
            join live_messages m on m.lane_id = l.id where l.session_key = s.id), 0) + {_ROW_BYTES}
    from live_sessions s
    where s.status = 'closed' and s.forked_from is null
        and s.id not in (
            select session_key from live_imports
            union select l.session_key from live_lanes l join live_lanes b on b.id = l.base_lane
                where l.session_key <> b.session_key
            union select b.session_key from live_lanes l join live_lanes b on b.id = l.base_lane
                where l.session_key <> b.session_key
            union select f.session_key from live_folds f join live_lanes n on n.id = f.note_lane
                where f.session_key <> n.session_key
            union select n.session_key from live_folds f join live_lanes n on n.id = f.note_lane
                where f.session_key <> n.session_key
        )
    order by s.id
"""
# The row is locked, so that nobody reopens the session or takes its id.
_LOCK = """
    update live_sessions set fence = fence
    where session_id = :native and status = 'closed' and revision = :revision returning id
"""


class ClosedSession(NamedTuple):
    """``is_child``: a finished ephemeral subagent. The numbers are as in `LiveHead`."""

    session_id: str
    revision: int
    last_usage: int
    is_child: int
    bytes: int


def closed_sessions(db: Database) -> list[ClosedSession]:
    return [ClosedSession(*row) for row in db.all(_CLOSED)]


def closed_bytes(db: Database) -> int:
    """The bytes of all rows that belong to closed live sessions. Retention may evict these rows."""
    return sum(one.bytes for one in closed_sessions(db))


def lock_closed(db: Database, native: str, revision: int) -> bool:
    """Lock a closed session until the transaction ends. False if it was changed or opened."""
    return db.one(_LOCK, {"native": native, "revision": revision}) is not None
