"""Query the tables of opencode's database: which sessions changed, and their rows."""

from collections.abc import Iterator
from typing import Any

import apsw

from session_memory.adapters.databases import rows_in, tables_of
from session_memory.adapters.opencode.next_messages import next_lineage, next_unit
from session_memory.adapters.opencode.removed import NEWEST_EVENT, has_events, removed_units
from session_memory.adapters.opencode.units import (
    completed_at,
    created_at,
    data_of,
    is_unfinished,
    lineage,
    message_unit,
    time_of,
)
from session_memory.adapters.row_journal import JournalState, RowUnit

_NEEDED = {
    "session": {"id", "time_updated"},
    "message": {"id", "session_id", "time_updated", "data"},
    "part": {"id", "message_id", "session_id", "time_updated", "data"},
}
# A message may change after the last change of its session's row. So the stamp of a session that
# changed within the day before the newest change includes the number and the times of its rows.
RECENT_MS = 24 * 60 * 60 * 1000
_STAMP = 1_000_000

SESSIONS = "select id, time_updated from session where typeof(id) = 'text'"
EVENTS = "select aggregate_id, seq from event_sequence"
COUNTED = """
    select (select count(*) + coalesce(sum(time_updated), 0) from message where session_id = :id)
        + (select count(*) + coalesce(sum(time_updated), 0) from part where session_id = :id)
        as counted
"""
SESSION = "select * from session where id = :id"
PROJECT = "select worktree, vcs from project where id = :id"
# opencode has an index on session and time, so the first and the last message are found quickly.
FIRST = """
    select id, data from message where session_id = :id order by time_created, id limit 1
"""
LAST = """
    select id, data from message where session_id = :id order by time_created desc, id desc limit 1
"""
LAST_PROMPT = """
    select id from message where session_id = :id and substr(data, 1, 200) like '%"role":"user"%'
    order by time_created desc, id desc limit 1
"""
CHANGED = """
    select id from message
    where session_id = :id and (time_updated >= :since or rowid > :messages)
    union
    select message_id from part
    where session_id = :id and (time_updated >= :since or rowid > :parts)
"""
MESSAGE = "select rowid as row_number, * from message where id = :id and session_id = :session"
PARTS = "select * from part where message_id = :id order by id"
NEWEST = """
    select coalesce(max(at), 0) from (
        select max(time_updated) as at from session where id = :id
        union all select max(time_updated) from message where session_id = :id
        union all select max(time_updated) from part where session_id = :id)
"""
ROW_IDS = "select (select max(rowid) from message), (select max(rowid) from part)"
TODO = "select * from todo where session_id = :id order by position"
OTHERS = """
    select * from session_message where session_id = :id and time_updated >= :since order by seq
"""
NEXT_FIRST = """
    select * from session_message where session_id = :id and type = 'user' order by seq limit 1
"""
NEXT_NEWEST = """
    select max(time_updated) as at, max(seq) as seq from session_message where session_id = :id
"""


def has_our_tables(tables: dict[str, list[str]]) -> bool:
    """Whether a database with these tables and columns is opencode's."""
    return all(columns <= set(tables.get(name, ())) for name, columns in _NEEDED.items())


def stamps_in(db: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Yield the id of each session with its stamp: a number that changes when rows of the session
    change."""
    sessions = [(row["id"], time_of(row["time_updated"])) for row in rows_in(db, SESSIONS)]
    newest = max((at for _, at in sessions), default=0)
    has_events = {"aggregate_id", "seq"} <= set(tables_of(db).get("event_sequence", ()))
    seqs: dict[Any, Any] = {}
    if has_events:
        seqs = {row["aggregate_id"]: row["seq"] for row in rows_in(db, EVENTS)}
    for name, at in sessions:
        more = time_of(seqs.get(name))
        if at >= newest - RECENT_MS:
            counted = next(rows_in(db, COUNTED, {"id": name}))["counted"]
            more += counted if isinstance(counted, int) else 0
        yield name, at * _STAMP + more % _STAMP


class OpencodeRows:
    """The rows of one session, read in the caller's read transaction."""

    def __init__(self, db: apsw.Connection, session: str, revert: str = "") -> None:
        """``revert`` is the message that the session was taken back to when a sync last read it."""
        self._db = db
        self._session = session
        self._revert = revert
        self._tables = tables_of(db)

    def changed_units(self, state: JournalState) -> Iterator[RowUnit]:
        """Yield the units that may need a line in the journal: the row of the session, then
        messages in the order of their ids, then other rows. Yield nothing while the first message
        has no parts."""
        row = self._one(SESSION)
        if row is None:
            return
        removed = self._removed(state)
        if first := self._lineage(removed):
            yield self._session_unit(row, first)
            yield from self._messages(state, removed)
            yield from self._others(state)

    def newest(self) -> int:
        """Return the time at which a row of the session changed last."""
        found = self._one(NEWEST)
        newest = time_of(next(iter(found.values()))) if found else 0
        return max(newest, time_of(self._next_newest().get("at")))

    def row_ids(self) -> list[int]:
        """Return the largest row ids of messages and parts, and the number of the last event."""
        found = list((self._one(ROW_IDS) or {}).values())
        if has_events(self._tables):
            found += (self._one(NEWEST_EVENT) or {}).values()
        return [one if isinstance(one, int) else 0 for one in found]

    def _removed(self, state: JournalState) -> dict[str, RowUnit]:
        if not has_events(self._tables):
            return {}
        return removed_units(self._rows, state.row_id(2), self._has_message)

    def _has_message(self, name: str) -> bool:
        return self._one(MESSAGE, id=name, session=self._session) is not None

    def _lineage(self, removed: dict[str, RowUnit]) -> str:
        """Return the text that identifies the first message of the session, also if opencode
        removed it; "" if there is none or if it has no parts yet."""
        first, gone = self._one(FIRST), min(removed, default="")
        if gone and (first is None or gone < first["id"]):
            return lineage(removed[gone].rows["row"], removed[gone].rows["parts"])
        if first is None:
            begun = self._one(NEXT_FIRST) if self._has_next() else None
            return next_lineage(begun) if begun else ""
        parts = list(self._rows(PARTS, id=first["id"]))
        return lineage(first, parts) if parts else ""

    def _has_next(self) -> bool:
        """Whether the database has messages of opencode's next interface."""
        return {"seq", "type", "time_updated"} <= set(self._tables.get("session_message", ()))

    def _next_newest(self) -> dict[str, Any]:
        return (self._one(NEXT_NEWEST) or {}) if self._has_next() else {}

    def _session_unit(self, row: dict[str, Any], first: str) -> RowUnit:
        rows: dict[str, Any] = {"table": "session", "row": row, "first": first}
        if {"worktree", "vcs"} <= set(self._tables.get("project", ())):
            rows["project"] = self._one(PROJECT, id=row.get("project_id"))
        unit = RowUnit("", time_of(row.get("time_updated")), rows)
        if self._revert and self._one(MESSAGE, id=self._revert, session=self._session):
            unit.notes["restored"] = True
        return unit

    def _messages(self, state: JournalState, removed: dict[str, RowUnit]) -> Iterator[RowUnit]:
        values = {"since": state.looked_from, "messages": state.row_id(0), "parts": state.row_id(1)}
        found = {row["id"] for row in self._rows(CHANGED, **values) if isinstance(row["id"], str)}
        last, prompt = self._one(LAST) or {}, self._one(LAST_PROMPT) or {}
        is_working = is_unfinished(data_of(last))
        gone = sorted(removed)
        for name in sorted(found | set(state.waiting) | {*removed}):
            if name in removed:
                if _is_unread(removed[name], state):
                    yield removed[name]
                continue
            for message in self._rows(MESSAGE, id=name, session=self._session):
                number = message.pop("row_number")
                unit = message_unit(
                    message, list(self._rows(PARTS, id=name)), is_last=name == last.get("id")
                )
                unit.stays = name == prompt.get("id")
                unit.may_wait = unit.stays and is_working
                unit.is_known = number <= state.row_id(0) and _was_final(unit, state)
                if gone and gone[0] < name:
                    unit.notes["removed"] = gone[0]
                    gone = [one for one in gone if one > name]
                yield unit

    def _others(self, state: JournalState) -> Iterator[RowUnit]:
        """Yield units of rows that are no messages. Their keys come after those of all messages."""
        if "position" in self._tables.get("todo", ()):
            rows = list(self._rows(TODO))
            at = max((time_of(row.get("time_updated")) for row in rows), default=-1)
            if at >= state.looked_from:
                yield RowUnit("todo", at, {"table": "todo", "rows": rows})
        if self._has_next():
            last = self._next_newest().get("seq")
            for row in self._rows(OTHERS, since=state.looked_from):
                yield next_unit(row, is_last=row["seq"] == last)

    def _rows(self, statement: str, **values: Any) -> Iterator[dict[str, Any]]:
        return rows_in(self._db, statement, {"id": self._session, **values})

    def _one(self, statement: str, **values: Any) -> dict[str, Any] | None:
        return next(self._rows(statement, **values), None)


def _is_unread(unit: RowUnit, state: JournalState) -> bool:
    """Whether no sync read a message completely before opencode removed it."""
    read_at, _ = state.recent.get(unit.key, (-1, 0))
    return unit.key in state.open or unit.at >= max(state.looked_from, read_at + 1)


def _was_final(unit: RowUnit, state: JournalState) -> bool:
    """Whether a message was complete when an earlier sync read it. Then its texts are known, and a
    later change of its rows is only a detail."""
    info = data_of(unit.rows["row"])
    settled = completed_at(info) if info.get("role") == "assistant" else created_at(info)
    return bool(settled) and settled < state.looked_from and unit.key not in state.open
