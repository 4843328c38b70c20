"""Query the tables of Crush's database: which sessions changed, and their rows."""

from collections.abc import Iterator
from typing import Any

import apsw

from session_memory.adapters.crush.messages import is_finished, message_blocks, parts_of
from session_memory.adapters.databases import rows_in
from session_memory.adapters.row_journal import JournalState, RowUnit

_NEEDED = {
    "sessions": {"id", "updated_at"},
    "messages": {"id", "session_id", "role", "parts", "created_at", "updated_at"},
}
# A message may change without a change of its session's row. So the stamp of a session that changed
# within the day before the newest change includes the number, the times and the sizes of its
# messages. The times alone are not enough, because two changes may be in one second.
RECENT_MS = 24 * 60 * 60 * 1000
_STAMP = 1_000_000

SESSIONS = "select id, updated_at from sessions where typeof(id) = 'text'"
COUNTED = """
    select count(*) + coalesce(sum(updated_at), 0) + coalesce(sum(octet_length(parts)), 0)
        as counted
    from messages where session_id = :id
"""
SESSION = "select * from sessions where id = :id"
CHANGED = """
    select rowid as row_number, * from messages
    where session_id = :id
        and (updated_at >= :seconds or updated_at >= :since or rowid > :last)
    order by created_at, rowid
"""
WAITING = "select rowid as row_number, * from messages where session_id = :id and id = :message"
LAST = """
    select id from messages where session_id = :id order by created_at desc, rowid desc limit 1
"""
NEWEST = "select max(updated_at) as at from messages where session_id = :id"
ROW_IDS = "select max(rowid) as last from messages"


def has_our_tables(tables: dict[str, list[str]]) -> bool:
    """Whether a database with these tables and columns is Crush's."""
    return all(columns <= set(tables.get(name, ())) for name, columns in _NEEDED.items())


def stamps_in(db: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Yield the id of each session with its stamp: a number that changes when rows of the session
    change."""
    sessions = [(row["id"], time_of(row["updated_at"])) for row in rows_in(db, SESSIONS)]
    newest = max((at for _, at in sessions), default=0)
    for name, at in sessions:
        counted = 0
        if at >= newest - RECENT_MS:
            found = next(rows_in(db, COUNTED, {"id": name}))["counted"]
            counted = found if isinstance(found, int) else 0
        yield name, at * _STAMP + counted % _STAMP


class CrushRows:
    """The rows of one session, read in the caller's read transaction."""

    def __init__(self, db: apsw.Connection, session: str) -> None:
        self._db = db
        self._session = session

    def session_unit(self) -> RowUnit | None:
        row = self._one(SESSION)
        if row is None:
            return None
        return RowUnit("", time_of(row.get("updated_at")), {"table": "session", "row": row})

    def messages(self, state: JournalState) -> Iterator[RowUnit]:
        """Yield the messages that may need a line in the journal, in their order."""
        since = state.looked_from
        values = {"since": since, "seconds": since // 1000, "last": state.row_id(0)}
        found = {row["id"]: row for row in self._rows(CHANGED, **values)}
        for key in state.waiting:
            for row in self._rows(WAITING, message=key.partition(" ")[2]):
                found.setdefault(row["id"], row)
        last = (self._one(LAST) or {}).get("id")
        units = [_unit(row, state, is_last=name == last) for name, row in found.items()]
        yield from sorted(units, key=lambda unit: unit.key)

    def newest(self, session: RowUnit) -> int:
        """Return the time at which a row of the session changed last."""
        return max(time_of((self._one(NEWEST) or {}).get("at")), session.at)

    def row_ids(self) -> list[int]:
        last = (self._one(ROW_IDS) or {}).get("last")
        return [last if isinstance(last, int) else 0]

    def _rows(self, statement: str, **values: Any) -> Iterator[dict[str, Any]]:
        return rows_in(self._db, statement, {"id": self._session, **values})

    def _one(self, statement: str) -> dict[str, Any] | None:
        return next(self._rows(statement), None)


def _unit(row: dict[str, Any], state: JournalState, *, is_last: bool) -> RowUnit:
    number = row.pop("row_number")
    parts = parts_of(row.get("parts"))
    is_open = is_last and not is_finished(row, parts)
    # Ids are random, and times are whole seconds. Within a second, row numbers tell the order.
    key = f"{time_of(row.get('created_at')):014}.{number:012} {row['id']}"
    unit = RowUnit(key, time_of(row.get("updated_at")), {"table": "message", "row": row})
    unit.is_open = is_open
    if is_open:
        unit.blocks = tuple(name for name, _ in message_blocks(row, parts, is_open=True))
    is_old = number <= state.row_id(0) and is_finished(row, parts)
    ended = time_of(row.get("finished_at")) or time_of(row.get("created_at"))
    unit.is_known = is_old and ended < state.looked_from and key not in state.open
    return unit


def time_of(value: Any) -> int:
    """Return a time in milliseconds; 0 for no time. Crush writes seconds, although its schema says
    milliseconds."""
    if type(value) is not int or not 0 <= value < 1 << 43:
        return 0
    return value if value >= 10**11 else value * 1000
