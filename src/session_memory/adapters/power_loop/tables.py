"""Find the tables of power-loop in a database.

In release 0.2 the names of tables have no prefix, in release 8 ``pl_`` or another prefix.
"""

import re

import apsw

_TABLES = "select name from sqlite_schema where type = 'table' order by name"
_MESSAGES = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,23})?messages")
_OUR_COLUMNS = {"session_id", "seq", "role", "tool_calls_json", "state", "created_at"}


def prefixes(db: apsw.Connection) -> list[str]:
    """Return the prefixes of table names: one for each set of power-loop's tables in a database."""
    names = [row[0] for row in db.execute(_TABLES)]
    found = []
    for name in names:
        match = _MESSAGES.fullmatch(name)
        if match is None:
            continue
        prefix = match[1] or ""
        if f"{prefix}sessions" in names and set(columns(db, name)) >= _OUR_COLUMNS:
            found.append(prefix)
    return found


def columns(db: apsw.Connection, table: str) -> list[str]:
    """Return the columns of ``table``; an empty list if there is no such table."""
    return [row[1] for row in db.execute(f'pragma table_info("{table}")')]
