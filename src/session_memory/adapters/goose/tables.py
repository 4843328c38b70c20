"""Query the tables of goose's database: which sessions changed, and their rows.

goose never changes the row of a message: it adds rows, or writes all messages of a session again as
new rows.
"""

from collections.abc import Iterator
from typing import Any

import apsw

from session_memory.adapters.databases import rows_in, tables_of
from session_memory.adapters.row_journal import JournalState, RowUnit
from session_memory.core.time import time_or_none

_NEEDED = {
    "sessions": {"id", "working_dir", "updated_at"},
    "messages": {"id", "session_id", "role", "content_json", "created_timestamp"},
}
_SUMS = (
    *("accumulated_input_tokens", "accumulated_output_tokens", "accumulated_total_tokens"),
    *("accumulated_cache_read_tokens", "accumulated_cache_write_tokens"),
)
_STAMP = 1_000_000

SESSIONS = "select * from sessions where typeof(id) = 'text'"
COUNTED = "select session_id, count(*) + max(id) as counted from messages group by session_id"
SESSION = "select * from sessions where id = :id"
CHANGED = "select * from messages where session_id = :id and id > :last order by id"
LEDGER = """
    select rowid as row_number, * from usage_ledger where session_id = :id and rowid > :last
    order by rowid
"""
LAST = "select max(id) as last from messages where session_id = :id"
LAST_USED = "select max(rowid) as last from usage_ledger where session_id = :id"


def has_our_tables(tables: dict[str, list[str]]) -> bool:
    """Whether a database with these tables and columns is goose's."""
    return all(columns <= set(tables.get(name, ())) for name, columns in _NEEDED.items())


def stamps_in(db: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Yield the id of each session with its stamp: a number that changes when rows of the session
    change."""
    counted = {row["session_id"]: row["counted"] for row in rows_in(db, COUNTED)}
    for row in rows_in(db, SESSIONS):
        sums = (row.get(name) for name in _SUMS)
        more = sum(one for one in (counted.get(row["id"]), *sums) if isinstance(one, int))
        yield row["id"], time_of(row["updated_at"]) * _STAMP + more % _STAMP


class GooseRows:
    """The rows of one session, read in the caller's read transaction."""

    def __init__(self, db: apsw.Connection, session: str) -> None:
        self._db = db
        self._session = session
        self._has_ledger = "session_id" in tables_of(db).get("usage_ledger", ())

    def session_unit(self) -> RowUnit | None:
        row = self._one(SESSION)
        if row is None:
            return None
        return RowUnit("", time_of(row.get("updated_at")), {"table": "session", "row": row})

    def messages(self, state: JournalState) -> Iterator[RowUnit]:
        """Yield the messages that are new, in their order; then the rows with the usage."""
        for row in self._rows(CHANGED, last=state.row_id(0)):
            at = seconds_as_ms(row.get("created_timestamp"))
            yield RowUnit(f"m{row['id']:015}", at, {"table": "message", "row": row})
        if self._has_ledger:
            for row in self._rows(LEDGER, last=state.row_id(1)):
                key = f"u{row.pop('row_number'):015}"
                yield RowUnit(key, 0, {"table": "usage_ledger", "row": row})
        row = self._one(SESSION) or {}
        sums = {name: row[name] for name in _SUMS if row.get(name)}
        if sums:
            model = {name: row.get(name) for name in ("provider_name", "model_config_json")}
            used = {"table": "usage", "row": {**sums, **model}}
            yield RowUnit("zz", time_of(row.get("updated_at")), used)

    def row_ids(self) -> list[int]:
        statements = [LAST, LAST_USED] if self._has_ledger else [LAST]
        found = [(self._one(statement) or {}).get("last") for statement in statements]
        return [one if isinstance(one, int) else 0 for one in found]

    def _rows(self, statement: str, **values: Any) -> Iterator[dict[str, Any]]:
        return rows_in(self._db, statement, {"id": self._session, **values})

    def _one(self, statement: str) -> dict[str, Any] | None:
        return next(self._rows(statement), None)


def time_of(value: Any) -> int:
    """Return a time such as ``2026-04-03 17:39:39`` (UTC) in milliseconds; 0 for no time."""
    if not isinstance(value, str):
        return 0
    text = value.strip().replace(" ", "T", 1)
    has_zone = text.endswith("Z") or "+" in text[10:] or "-" in text[10:]
    return time_or_none(text if has_zone else f"{text}Z") or 0


def seconds_as_ms(value: Any) -> int:
    """Return a time in seconds as milliseconds; 0 for no time. A number that is too large for
    seconds is milliseconds already."""
    if type(value) is not int or not 0 <= value < 1 << 43:
        return 0
    return value if value >= 10**11 else value * 1000
