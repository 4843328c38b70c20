"""The tables of a power-loop database. Release 0.2 has no prefix, 8 has ``pl_`` or another one."""

import re

import apsw

_TABLES = "select name from sqlite_schema where type = 'table' order by name"
_MESSAGES = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,23})?messages")
_TELLING = {"session_id", "seq", "role", "tool_calls_json", "state", "created_at"}


def prefixes(db: apsw.Connection) -> list[str]:
    """What the tables' names begin with; a database may hold several sets of them."""
    names = [row[0] for row in db.execute(_TABLES)]
    found = []
    for name in names:
        told = _MESSAGES.fullmatch(name)
        if told is None:
            continue
        prefix = told[1] or ""
        if f"{prefix}sessions" in names and set(columns(db, name)) >= _TELLING:
            found.append(prefix)
    return found


def columns(db: apsw.Connection, table: str) -> list[str]:
    """The columns of ``table``; none when there is no such table."""
    return [row[1] for row in db.execute(f'pragma table_info("{table}")')]
