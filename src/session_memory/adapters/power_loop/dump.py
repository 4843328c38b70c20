"""Dump a database of power-loop as lines of JSON: one line for each row, in the order in which the
rows were inserted.

Rows of several tables are merged by their time, which never decreases within a table. So a dumped
line keeps its place when rows are added. Fields that change in place (whether a session is
archived, which messages a compaction replaced) are in a separate document.
"""

import json
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any

import apsw

from session_memory.adapters.base import SourceRef
from session_memory.adapters.power_loop.layout import MESSAGES, SESSIONS, USAGE
from session_memory.adapters.power_loop.tables import columns, prefixes
from session_memory.core.text import escaped

LONGEST_VALUE = 64 * 1024 * 1024
_BIRTH = (
    *("session_id", "created_at", "kind", "parent_session_id", "spawn_tool_call_id"),
    *("spawn_depth", "lifecycle"),
)
# The other columns are left out: settings may contain credentials, and states, leases and caches
# are no history.
_ABOUT = (
    *("session_id", "created_at", "updated_at", "system_prompt", "model", "status", "kind"),
    *("parent_session_id", "spawn_tool_call_id", "spawn_depth", "lifecycle", "metadata_json"),
)
_BESIDE = ("notes", "timers", "background_tasks", "follow_up_queue", "session_stats")

Line = tuple[int, int, dict[str, Any]]


def dump(database: Path, ref: SourceRef) -> Iterator[bytes]:
    """Yield the lines of one source (``ref``) in a database: its messages, usage or sessions.

    ``database`` is the path of a copy, which nobody writes to.
    """
    try:
        db = apsw.Connection(str(database))
        try:
            db.execute("pragma trusted_schema = off")
            db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            yield from _lines(db, ref.home_path.rpartition("/")[2])
        finally:
            db.close()
    except apsw.Error as error:
        raise OSError(f"{ref.path.name} cannot be read: {error}") from error


def _lines(db: apsw.Connection, part: str) -> Iterator[bytes]:
    for prefix in prefixes(db):
        if part == MESSAGES:
            for _, _, row in merge(*_log(db, prefix), key=lambda line: line[:2]):
                yield _line(row)
        elif part == USAGE and _replaces(db, prefix):
            for _, _, row in _rows(db, prefix, "usage_rounds", 0):
                yield _line(row)
        elif part == SESSIONS:
            for row in _about(db, prefix):
                yield _line(row)


def _replaces(db: apsw.Connection, prefix: str) -> bool:
    """Whether rows with usage are replaced: in release 0.2, each send replaces rows of the send
    before, because it numbers its rounds from the beginning."""
    return "send_index" not in columns(db, f"{prefix}usage_rounds")


def _log(db: apsw.Connection, prefix: str) -> list[Iterator[Line]]:
    tables = ["messages", "compactions", "hook_events"]
    if not _replaces(db, prefix):
        tables.append("usage_rounds")
    born = _rows(db, prefix, "sessions", 0, _BIRTH)
    return [born, *(_rows(db, prefix, name, rank) for rank, name in enumerate(tables, start=1))]


def _rows(
    db: apsw.Connection, prefix: str, table: str, rank: int, only: tuple[str, ...] = ()
) -> Iterator[Line]:
    names = columns(db, f"{prefix}{table}")
    wanted = [f'"{name}"' for name in names if name != "state" and (not only or name in only)]
    if not names:
        return
    clock = 0
    own = "t.model" if "model" in names else "null"
    model = _MODELS.get(table, "").format(prefix=prefix, own=own)
    sql = f'select {", ".join(wanted)}{model} from "{prefix}{table}" t order by rowid'
    for row in _dicts(db, sql):
        at = row.get("created_at")
        clock = max(clock, at) if isinstance(at, int) else clock
        yield clock, rank, {"table": table, **row}


# The model of an answer is the session's model. A row with usage may name another model; in release
# 0.2 it names none.
_SESSIONS_MODEL = 'select model from "{prefix}sessions" s where s.session_id = t.session_id'
_MODELS = {
    "messages": f", case when role = 'assistant' then ({_SESSIONS_MODEL}) end as model",
    "usage_rounds": f", coalesce({{own}}, ({_SESSIONS_MODEL})) as model",
}


def _about(db: apsw.Connection, prefix: str) -> Iterator[dict[str, Any]]:
    names = [f'"{n}"' for n in _ABOUT if n in columns(db, f"{prefix}sessions")]
    sql = f'select {", ".join(names)} from "{prefix}sessions" order by session_id'
    for row in list(_dicts(db, sql)):
        yield {"table": "sessions", **row, "out": _out(db, prefix, row.get("session_id"))}
    for table in _BESIDE:
        if columns(db, f"{prefix}{table}"):
            for row in _dicts(db, f'select * from "{prefix}{table}" order by rowid'):
                yield {"table": table, **row}


def _out(db: apsw.Connection, prefix: str, session: Any) -> dict[str, list[list[int]]]:
    """Return the messages that the model does not get any more: for each reason, the first and
    last numbers of runs of messages."""
    found: dict[str, list[list[int]]] = {}
    sql = f'''select state, seq from "{prefix}messages"
        where session_id = ? and state <> 'active' order by state, seq'''
    for state, seq in db.execute(sql, (session,)):
        runs = found.setdefault(str(state), [])
        if runs and runs[-1][1] == seq - 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return found


def _dicts(db: apsw.Connection, sql: str) -> Iterator[dict[str, Any]]:
    cursor = db.execute(sql)
    names: list[str] = []
    for values in cursor:
        names = names or [column[0] for column in cursor.get_description()]
        pairs = zip(names, values, strict=True)
        yield {name: _value(value) for name, value in pairs if value is not None}


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return escaped(value) if isinstance(value, str) else value


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
