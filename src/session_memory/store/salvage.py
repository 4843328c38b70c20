"""Read what is still readable in a damaged SQLite file, and put it into a new store.

A table is read in the order of its rows and without its indexes. Where a page cannot be read, the
reading goes on with the next row that can be read. Rows that refer to a lost row are left out. In
a text that is no longer UTF-8, wrong bytes become underscores: the rest of its row is not lost.
"""

import codecs
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import msgspec

from session_memory.core.errors import StoreDamaged, StoreNotFound
from session_memory.store.address import is_postgres, shown
from session_memory.store.copying import INDEX_STATE
from session_memory.store.damage import NAMED
from session_memory.store.migrations import all_tables
from session_memory.store.sqlite import Sqlite
from session_memory.store.sqlite_errors import translated
from session_memory.store.store import Store, open_store

# After a damaged row, so many row ids are tried one by one. Then larger and larger steps are made.
TRIED_ONE_BY_ONE = 1000
LARGEST = 2**63 - 1
Row = tuple[Any, ...]
# Wrong bytes become underscores. The usual replacement character is not allowed in the id of a
# session; an underscore is.
_AS_UNDERSCORES = "session-memory-underscores"
codecs.register_error(_AS_UNDERSCORES, lambda error: ("_", getattr(error, "end", 0)))
# The type of a value, and the value. A text is read as bytes, because a damaged text may not be
# UTF-8.
_AS_BYTES = "typeof({0}), iif(typeof({0}) = 'text', cast({0} as blob), {0})"

# The tables whose values are numbers of names, and those from which logs are restored and exported.
NAMED_TABLES = ("events", "usage")
LOG_TABLES = ("sources", "dictionaries", "packs", "evicted_sources", "sessions", "session_sources")


class LostRows(msgspec.Struct, frozen=True):
    """A range of rows that could not be read: row ids above ``after`` and below ``before``.

    Without ``before`` the range goes to the end of the table.
    """

    table: str
    after: int
    before: int | None
    reason: str

    def __str__(self) -> str:
        end = "to its end" if self.before is None else f"to {self.before - 1}"
        return f"table {self.table}: rows {self.after + 1} {end} cannot be read: {self.reason}"


@contextmanager
def salvaged(
    where: str, tables: Collection[str] = LOG_TABLES, beside: Path | None = None
) -> Iterator[tuple[Store, list[LostRows]]]:
    """Give a temporary store with the readable rows of a damaged file, and the list of lost rows.

    The damaged file is only read. The temporary store is in a new directory below ``beside``.
    """
    if is_postgres(where):
        raise StoreDamaged(shown(where), "only the server can repair its files")
    path = Path(where).expanduser()
    if not path.is_file():
        raise StoreNotFound(where)
    damaged = _opened(path)
    try:
        with (
            TemporaryDirectory(prefix=".session-memory-", dir=beside) as directory,
            open_store(Path(directory) / "memory.db", durability="normal") as store,
        ):
            yield store, salvage(damaged, store, tables)
    finally:
        damaged.close()


def _opened(path: Path) -> apsw.Connection:
    """Open the file for reading, even if it is too short or a part of its schema is damaged.

    Raises `StoreDamaged` if the schema does not even name the table ``sources``.
    """
    try:
        connection = apsw.Connection(str(path))
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
        connection.pragma("query_only", True)
        next(connection.execute("select 1 from sqlite_master where name = 'sources'"))
    except apsw.Error as error:
        raise translated(error, path) from error
    except StopIteration:
        raise StoreDamaged(str(path), "its table of tables is gone") from None
    return connection


def salvage(
    damaged: apsw.Connection, target: Store, tables: Collection[str] | None = None
) -> list[LostRows]:
    """Copy the readable rows of all or some tables into an empty store; return what was lost."""
    assert isinstance(target.db, Sqlite)
    known = (one for one in all_tables() if one != INDEX_STATE)
    chosen = [one for one in known if tables is None or one in tables]
    lost: list[LostRows] = []
    connection = target.db.connection
    connection.pragma("foreign_keys", False)
    try:
        with target.transaction():
            for table in chosen:
                if table in NAMED_TABLES and any(one.table == "names" for one in lost):
                    # Without the names of kinds and models, their rows cannot be read.
                    lost.append(LostRows(table, 0, None, "its names were lost"))
                    continue
                columns = target.db.columns(table)
                for row in _readable(damaged, table, columns, lost):
                    _insert(connection, table, columns, row, lost)
            lost += _drop_nameless(connection)
            lost += _drop_orphans(connection)
            target.index.declare(complete=False)
    finally:
        connection.pragma("foreign_keys", True)
    return lost


def _readable(
    connection: apsw.Connection, table: str, columns: list[str], lost: list[LostRows]
) -> Iterator[Row]:
    """Each row that can be read, with its row id first."""
    select = f"select rowid, {', '.join(columns)} from {table} not indexed"
    as_bytes = f"select rowid, {', '.join(map(_AS_BYTES.format, columns))} from {table} not indexed"
    # The condition is "at least the next row id". With "greater than the last row id", SQLite would
    # first look for the last row, which may be in the damaged page.
    start: int | None = -LARGEST
    while start is not None:
        following = start
        try:
            for row in connection.execute(f"{select} where rowid >= ? order by rowid", (start,)):
                read = row if select is not as_bytes else _decoded(table, row, lost)
                if read is not None:
                    yield read
                # In a damaged page the ids may be in any order.
                following = max(following, row[0] + 1)
            return
        except UnicodeDecodeError:
            start, select = following, as_bytes
        except apsw.Error as error:
            start = _next_readable(connection, as_bytes, max(following, 1))
            lost.append(LostRows(table, max(following, 1) - 1, start, str(error)))


def _decoded(table: str, row: Row, lost: list[LostRows]) -> Row | None:
    """A row that was read with `_AS_BYTES`. Bytes that are not UTF-8 are replaced.

    A row with such bytes is added to ``lost``. For a session with such bytes the result is None:
    its ids would contradict each other, and the session can be derived again from its logs.
    """
    values, wrong = [], False
    for kind, value in zip(row[1::2], row[2::2], strict=True):
        text = value.decode(errors=_AS_UNDERSCORES) if kind == "text" else value
        wrong = wrong or (kind == "text" and text.encode() != value)
        values.append(text)
    if wrong:
        reason = "bytes of a text are not UTF-8"
        lost.append(LostRows(table, row[0] - 1, row[0] + 1, reason))
    return None if wrong and table == "sessions" else (row[0], *values)


def _next_readable(connection: apsw.Connection, select: str, first: int) -> int | None:
    """Return the id of the first readable row after the row ``first``, or None if there is none."""
    failed, place, step = first, first + 1, 1
    while place < LARGEST:
        found, row = _row_from(connection, select, place)
        if found:
            return _nearest(connection, select, failed, place, row)
        failed = place
        step = 1 if place - first < TRIED_ONE_BY_ONE else step * 2
        place = min(place + step, LARGEST)
    return None


def _nearest(
    connection: apsw.Connection, select: str, failed: int, place: int, row: int | None
) -> int | None:
    """Return the id of the first readable row after the row ``failed``, or None if there is none.

    The first row at or after the id ``failed`` cannot be read. The first row at or after the id
    ``place`` can be read; its id is ``row``, or None if there is no row. The range between both ids
    is halved until they are neighbours.
    """
    while place - failed > 1:
        middle = (failed + place) // 2
        found, nearer = _row_from(connection, select, middle)
        if found:
            place, row = middle, nearer
        else:
            failed = middle
    return row


def _row_from(connection: apsw.Connection, select: str, place: int) -> tuple[bool, int | None]:
    """Whether the first row at or behind ``place`` can be read, and its id if there is one."""
    sql = f"{select} where rowid >= ? order by rowid limit 1"
    try:
        row = next(connection.execute(sql, (place,)), None)
    except apsw.Error:
        return False, None
    # A damaged page may give a row that was not asked for.
    return True, None if row is None else max(int(row[0]), place)


def _insert(
    connection: apsw.Connection,
    table: str,
    columns: list[str],
    row: Row,
    lost: list[LostRows],
) -> None:
    marks = ", ".join("?" * len(columns))
    sql = f"insert into {table} ({', '.join(columns)}) values ({marks})"
    try:
        connection.execute(sql, row[1:])
    except (apsw.ConstraintError, apsw.MismatchError) as error:
        # A damaged row can hold a value of a wrong type, or one that another row has.
        lost.append(LostRows(table, row[0] - 1, row[0] + 1, str(error)))


def _drop_nameless(connection: apsw.Connection) -> list[LostRows]:
    """Delete events and usage whose kind, tool or model is a number without a name."""
    lost = []
    for table, column in NAMED:
        wrong = f"{column} is not null and {column} not in (select id from names)"
        for (rowid,) in connection.execute(f"delete from {table} where {wrong} returning rowid"):
            lost.append(LostRows(table, rowid - 1, rowid + 1, f"its {column} has no name"))
    return _joined(sorted(lost, key=lambda one: (one.table, one.reason, one.after)))


def _drop_orphans(connection: apsw.Connection) -> list[LostRows]:
    """Delete rows that refer to lost ones. That may make other rows orphans."""
    lost = []
    while broken := list(connection.execute("pragma foreign_key_check")):
        for table, rowid, parent, _ in {(t, r, p, 0) for t, r, p, _ in broken}:
            connection.execute(f"delete from {table} where rowid = ?", (rowid,))
            lost.append(LostRows(table, rowid - 1, rowid + 1, f"its row of {parent} was lost"))
    return _joined(sorted(lost, key=lambda one: (one.table, one.reason, one.after)))


def _joined(lost: list[LostRows]) -> list[LostRows]:
    """Join ranges of the same table and reason that follow each other."""
    joined: list[LostRows] = []
    for one in lost:
        last = joined[-1] if joined else None
        if (
            last is not None
            and (last.table, last.reason) == (one.table, one.reason)
            and last.before is not None
            and one.after <= last.before - 1
        ):
            joined[-1] = msgspec.structs.replace(last, before=one.before)
        else:
            joined.append(one)
    return joined
