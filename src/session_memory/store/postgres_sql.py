"""Statements for PostgreSQL alone, and the conversion of all others to psycopg's parameters."""

import re
from collections.abc import Sequence
from functools import lru_cache

from session_memory.store.database import Key

_MARKS = re.compile(r"'(?:[^']|'')*'|::|:([a-z_]\w*)|%")

HAS_TABLE = "select to_regclass(:name) is not null"
# Null if there are no tables yet, which anybody may try to create.
MAY_WRITE = """
    select not pg_is_in_recovery() and has_table_privilege(to_regclass('sessions'), 'insert')
"""
# One statement, because another process may be creating our tables at this moment.
OURS = """
    select 1 from pg_tables where schemaname = current_schema() and tablename in ({keys})
    and to_regclass('schema_steps') is null
"""
COLUMNS = """
    select attname::text, format_type(atttypid, null) from pg_attribute
    where attrelid = to_regclass(:table) and attnum > 0 and not attisdropped order by attnum
"""
SIZE = """
    select coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)
    from unnest(cast(:tables as text[])) as names (name)
"""
CONTINUE = """
    select setval(pg_get_serial_sequence('{table}', 'id'),
                  (select coalesce(max(id), 0) + 1 from {table}), false)
"""
ADVANCE = """
    select setval(sequence, nextval(sequence) + :count - 1)
    from (select cast(pg_get_serial_sequence(:table, 'id') as regclass) as sequence) named
"""


@lru_cache(maxsize=1024)
def to_psycopg(sql: str) -> bytes:
    """Replace ``:name`` by ``%(name)s``. Texts, casts and percent signs keep their meaning."""
    return _MARKS.sub(_mark, sql).encode()


def _mark(match: re.Match[str]) -> str:
    return f"%({match[1]})s" if match[1] else match[0].replace("%", "%%")


def number_array(numbers: Sequence[object]) -> str:
    """Return an array as text. psycopg would choose an integer type too small for later values."""
    return f"{{{','.join(map(str, numbers))}}}"


def among(keys: Sequence[Key]) -> tuple[str, str | list[Key]]:
    """Return the SQL for "is one of these keys", and the value of its parameter ``:keys``."""
    if isinstance(keys[0], int):
        return "= any(cast(:keys as bigint[]))", number_array(keys)
    return "= any(:keys)", list(keys)
