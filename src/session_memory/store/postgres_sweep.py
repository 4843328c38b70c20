"""Clear the traces of deleted rows on PostgreSQL: rewrite the tables, and keep statistics without
texts.

The server skips a table that the role may not vacuum, with no more than a warning. It also copies
deleted rows that an older transaction can still see. Both are noticed here and returned.

The planner's statistics hold common values of every column, and an empty table keeps those it had.
So no statistics are made of columns with texts. Where there are some, they are removed.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from session_memory.core.errors import StoreBusy, StoreError
from session_memory.store.database import Unswept

if TYPE_CHECKING:
    from session_memory.store.postgres import Postgres

COMPACT = "session-memory store compact"
PATIENCE_S = 5
LOCK_S = 30
SHORTEST_WAIT_S = 0.2
RETRY_S = 0.1
STATISTICS = "pg_statistic"
_FILE = "select pg_relation_filenode(to_regclass(:table))"
# Selects the tables that have rows or had some, by the sizes of their files. The file of a B-tree
# without rows has one page. Other indexes have pages too, so a table with one is always selected.
_USED = """
    select t.name from unnest(:tables::text[]) with ordinality t (name, place)
    join pg_class c on c.oid = to_regclass(t.name)
    where pg_relation_size(c.oid) > 0
        or c.reltoastrelid <> 0 and pg_relation_size(c.reltoastrelid) > 0
        or exists (
            select 1 from pg_index i join pg_class x on x.oid = i.indexrelid
            join pg_am m on m.oid = x.relam
            where i.indrelid = c.oid
                and pg_relation_size(x.oid) > case m.amname when 'btree' then 8192 else 0 end
        )
    order by t.place
"""
# Packs and other compressed values are bytes. Hashes are bytes, too, and their statistics help.
_TEXT_COLUMNS = """
    select t.name, pg_has_role(c.relowner, 'usage'), a.attname::text,
        format_type(a.atttypid, a.atttypmod),
        (select quote_ident(o.collname) from pg_collation o where o.oid = a.attcollation),
        exists (
            select 1 from pg_stats s where s.schemaname = current_schema()
            and s.tablename = t.name and s.attname = a.attname
        )
    from unnest(:tables::text[]) t (name)
    join pg_class c on c.oid = to_regclass(t.name)
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where coalesce(a.attstattarget, -1) <> 0
        and (a.atttypid in ('text'::regtype, 'tsvector'::regtype)
            or a.atttypid = 'bytea'::regtype and a.attname in ('body', 'state'))
"""
_TEXT_INDEXES = """
    select t.name, pg_has_role(c.relowner, 'usage'), c.relname::text, a.attnum
    from unnest(:tables::text[]) t (name)
    join pg_index i on i.indrelid = to_regclass(t.name)
    join pg_class c on c.oid = i.indexrelid
    join pg_attribute a on a.attrelid = i.indexrelid and a.attnum > 0
    where i.indkey[a.attnum - 1] = 0
        and a.atttypid = 'text'::regtype and coalesce(a.attstattarget, -1) <> 0
"""
_VIEWS = """
    select distinct v.relname::text, pg_get_viewdef(v.oid)
    from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
    where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
        and d.refobjid = to_regclass(:table) and v.relkind = 'v'
        and v.relnamespace = current_schema()::regnamespace
"""
_GRANTS = """
    select quote_ident(g.rolname), x.privilege_type from pg_class v, aclexplode(v.relacl) x
    join pg_roles g on g.oid = x.grantee
    where v.oid = to_regclass(:view) and x.grantee <> v.relowner
"""
_SAMPLES = """
    select tablename::text, concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems)
    from pg_stats where schemaname = current_schema()
"""


def sweep_tables(db: "Postgres", tables: Sequence[str], *, give_way: bool = False) -> list[Unswept]:
    """Rewrite the tables without their deleted rows. Returns what could not be cleared.

    A table that never had rows has nothing to clear, and is left as it is.

    With ``give_way``, a table of live sessions is left as it is while somebody appends to it.
    """
    unswept = _Problems(db)
    had_statistics = False
    for table in _with_text_statistics(db, tables):
        try:
            had_statistics |= withhold_statistics(db, [table])
        except StoreError as error:
            unswept.add(f"{STATISTICS} of {table}", str(error), _owner(db, table), table)
    start = time.monotonic()
    used = [row[0] for row in db.all(_USED, {"tables": list(tables)})]
    for table in dict.fromkeys([*used, *([STATISTICS] if had_statistics else [])]):
        reason, command = _vacuum(db, table, start, give_way and table.startswith("live_"))
        if reason:
            unswept.add(table, reason, command, table)
    return unswept.all()


def make_space_reusable(db: "Postgres", tables: Sequence[str]) -> None:
    """Let later rows use the space of deleted ones, without making anybody wait.

    The files rarely get smaller. Tables of live sessions are left out.
    """
    for table in tables:
        if not table.startswith("live_"):
            db.execute(f"vacuum {table}")


def _vacuum(db: "Postgres", table: str, start: float, give_way: bool) -> tuple[str, str]:
    """Rewrite one table. Returns why that was not possible and what to do, or empty texts.

    ``start`` is when the sweep began. All its tables share one time limit for waiting.
    """
    before = db.value(_FILE, {"table": table})
    wait = max(start + LOCK_S - time.monotonic(), SHORTEST_WAIT_S)
    try:
        while (
            kept := db.rewrite_table(table, wait, give_way=give_way)
        ) and time.monotonic() < start + PATIENCE_S:
            # Most transactions are short. Rows that none of them sees any more can be removed.
            time.sleep(RETRY_S)
    except StoreBusy:
        return "another program uses it", f"When that has ended, run: {COMPACT}"
    except StoreError as error:
        return str(error), f"Run: {COMPACT}"
    if db.value(_FILE, {"table": table}) == before:
        if table == STATISTICS:
            owner = "the owner of the database, or an administrator"
            return "your role may not vacuum it", f"Let {owner} run: vacuum full {STATISTICS}"
        return "your role may not vacuum it", _owner(db, table)
    if kept:
        reason = "another transaction still sees the deleted rows"
        return reason, f"When it has ended, run: {COMPACT}"
    return "", ""


def _owner(db: "Postgres", table: str) -> str:
    owner = db.value(
        "select pg_get_userbyid(relowner)::text from pg_class where oid = to_regclass(:table)",
        {"table": table},
    )
    return f"Let {owner}, who owns it, run: {COMPACT}"


class _Problems:
    """What could not be cleared, grouped by the reason and the remedy."""

    def __init__(self, db: "Postgres") -> None:
        self._db = db
        self._places: dict[tuple[str, str], dict[str, str]] = {}

    def add(self, place: str, reason: str, remedy: str, table: str) -> None:
        self._places.setdefault((reason, remedy), {})[place] = mark_of(self._db, table)

    def all(self) -> list[Unswept]:
        return [
            Unswept(tuple(sorted(places)), *why, tuple(places.values()))
            for why, places in self._places.items()
        ]


def mark_of(db: "Postgres", table: str) -> str:
    """The table with the number of its file, which changes when the table is rewritten."""
    return f"{table} {db.value(_FILE, {'table': table})}"


def still_marked(db: "Postgres", marks: Collection[str]) -> list[str]:
    """The tables in ``marks`` that still have the same file. Each mark names a table and a file."""
    return [
        table
        for table, _, _ in (mark.partition(" ") for mark in sorted(marks))
        if mark_of(db, table) in marks
    ]


# ---------------------------------------------------------------- statistics


class _TextColumn(NamedTuple):
    table: str
    is_ours: bool
    name: str
    kind: str
    collation: str | None
    has_statistics: bool


def _with_text_statistics(db: "Postgres", tables: Sequence[str]) -> list[str]:
    """The tables for which the server makes statistics of texts. After a sweep there are none.

    The server takes milliseconds to plan these queries, so each covers all tables.
    """
    given = {"tables": list(tables)}
    found = {row[0] for sql in (_TEXT_COLUMNS, _TEXT_INDEXES) for row in db.all(sql, given)}
    return [table for table in tables if table in found]


def withhold_statistics(db: "Postgres", tables: Sequence[str]) -> bool:
    """Let the server make no statistics of the texts in tables. True if it had made some."""
    given = {"tables": list(tables)}
    columns = [_TextColumn(*row) for row in db.all(_TEXT_COLUMNS, given)]
    if not columns and not db.all(_TEXT_INDEXES, given):
        return False
    if any(one.has_statistics and not one.is_ours for one in columns):
        raise StoreError("it holds common texts of the table")
    with db.transaction():
        for table in dict.fromkeys(one.table for one in columns if one.is_ours):
            its = [one for one in columns if one.table == table]
            if filled := [one for one in its if one.has_statistics]:
                _drop_statistics(db, table, filled)
            changes = (f"alter column {one.name} set statistics 0" for one in its)
            db.execute(f"alter table {table} {', '.join(changes)}")
        # Changing a column has made the indexes again, so they are looked up only now.
        for _, is_ours, index, number in db.all(_TEXT_INDEXES, given):
            if is_ours:
                db.execute(f"alter index {index} alter column {number} set statistics 0")
    return any(one.has_statistics for one in columns)


def _drop_statistics(db: "Postgres", table: str, columns: Sequence[_TextColumn]) -> None:
    """Remove the statistics of columns by setting the type of each column to its own type.

    The server refuses that for a column in a view, so the views are dropped and created again, with
    their rights.
    """
    views = db.all(_VIEWS, {"table": table})
    rights = {view: db.all(_GRANTS, {"view": view}) for view, _ in views}
    for view, _ in views:
        db.execute(f"drop view {view}")
    changes = (
        f"alter column {one.name} type {one.kind}"
        + (f" collate {one.collation}" if one.collation else "")
        for one in columns
    )
    db.execute(f"alter table {table} {', '.join(changes)}")
    for view, definition in views:
        db.execute(f"create view {view} as {definition}")
        for role, right in rights[view]:
            db.execute(f"grant {right} on {view} to {role}")


def statistics(db: "Postgres") -> Iterator[tuple[str, str]]:
    """``(table, values)`` for all statistics of the schema that hold values of rows."""
    for table, values in db.all(_SAMPLES):
        yield f"{STATISTICS} of {table}", values or ""
