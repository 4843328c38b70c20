"""The interface that both databases implement, and `connect`, which opens the right one.

Each statement is written once, in SQL that SQLite and PostgreSQL both accept, with ``:named``
parameters. What differs is in `session_memory.store.sqlite` and `session_memory.store.postgres`.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from session_memory.core.choices import one_of
from session_memory.core.errors import StoreError
from session_memory.store.address import for_libpq, is_postgres, is_unknown_address
from session_memory.store.word_query import WordEngine

Row = tuple[Any, ...]
Params = Mapping[str, Any]
Key = int | bytes | str

BUSY_S = 60
DURABILITIES = ("full", "normal")

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def forks() -> int:
    """How often this process was forked. A connection made before a fork belongs to the parent."""
    return _forks


class Unswept(NamedTuple):
    """Tables or files that may still hold deleted data: why, and what to do about it.

    ``marks`` identify the present files of the tables. Once a table has a new file, it is clean.
    """

    places: tuple[str, ...]
    reason: str
    remedy: str
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.places[:3])
        more = f" and {len(self.places) - 3} more" if len(self.places) > 3 else ""
        return f"{shown}{more}: {self.reason}. {self.remedy}"


class Database(Protocol):
    """A database connection. On SQLite, one thread at a time may use it."""

    types: ClassVar[dict[str, str]]
    """The column types and other texts that replace ``{int}``, ``{text}``, … in migrations."""

    also: ClassVar[dict[int, str]]
    """Extra statements for this database only, by number of the migration step."""

    @property
    def name(self) -> str:
        """The path or address, without a password."""

    @property
    def file(self) -> Path | None:
        """The file itself, with links resolved. None for a server or a store in memory."""

    @property
    def is_read_only(self) -> bool: ...

    # ------------------------------------------------------------ statements

    def execute(self, sql: str, params: Params | None = None) -> Iterator[Row]: ...

    def each(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        """The rows one by one, for queries whose result may not fit in memory."""

    def all(self, sql: str, params: Params | None = None) -> list[Row]: ...

    def one(self, sql: str, params: Params | None = None) -> Row | None: ...

    def value(self, sql: str, params: Params | None = None) -> Any: ...

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows. Their values are in the order of ``columns``."""

    def next_ids(self, table: str, count: int) -> int:
        """Reserve ``count`` ids and return the first. Call it inside a transaction."""

    def insert_one(self, table: str, columns: Sequence[str], values: Sequence[Any]) -> int:
        """Insert a row and return its id."""

    def update_many(self, sql: str, params: Iterable[Params]) -> None: ...

    def matching(self, sql: str, keys: Sequence[Key]) -> Iterator[Row]:
        """Rows of ``sql``, which contains ``in ({keys})``, for any number of keys of one type."""

    # ------------------------------------------------------------ transactions

    def transaction(self, *, shared: bool = False) -> AbstractContextManager[bool]:
        """A write transaction that excludes other writers. A nested one joins the outer one.

        ``shared=True`` allows other shared transactions at the same time, if the database can lock
        rows. The caller must then lock the rows that it relies on, by writing them first. If the
        block gets True, the commit does not wait for the disk: call `sync` after the block.
        """

    def crowd(self) -> None:
        """Note that several writers wait. Their next transactions then share syncs of the disk."""

    def sync(self) -> None:
        """Wait until all committed transactions are on disk. Any thread may call it."""

    def operation_lock(self, *, shared: bool) -> AbstractContextManager[None]:
        """Lock the store for a long operation, exclusively or ``shared`` with other shared ones.

        Take it outside of transactions. A nested lock joins the outer one, but a shared lock cannot
        become exclusive. Waits for a minute, then raises `StoreBusy`.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Within this block all reads see the same state of the database."""

    def loading(self) -> AbstractContextManager[None]:
        """Settings that make the first load of an empty store faster."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction or a snapshot is open."""

    @property
    def is_writing(self) -> bool:
        """Whether this thread has an open write transaction."""

    def write_mark(self) -> object:
        """Return a value that changes when another process writes what a sync writes.

        If the value from before a write transaction equals that from inside it, nobody wrote in
        between. It may also change without such a write.
        """

    def others_wrote(self) -> bool:
        """Whether another connection has committed since the previous call.

        A wrong True only costs time. False is always right.
        """

    # ------------------------------------------------------------ tables

    def ready(self) -> None:
        """Apply permanent settings. Called once it is known that the database is a store."""

    def is_foreign(self, tables: Sequence[str]) -> bool:
        """Whether another program's tables are where our ``tables`` would be created."""

    def has_table(self, name: str) -> bool: ...

    def columns(self, table: str) -> list[str]: ...

    def continue_ids(self, tables: Sequence[str]) -> None:
        """Make new ids follow the highest existing ones, after rows were inserted with ids."""

    def word_engine(self, table: str) -> WordEngine:
        """Return the engine that builds and searches the word index in ``table``."""

    # ------------------------------------------------------------ maintenance

    def check(self) -> list[str]:
        """The problems that the database's own integrity check reports."""

    def backup(self, target: Path) -> bool:
        """Write a consistent copy of the database. False if it has no file to copy."""

    def backup_before(self, step: int, now: int) -> None:
        """Copy the database before a migration, unless the server can undo a migration itself."""

    def vacuum(self) -> None:
        """Rewrite the database, as small as it can be. Other processes may have to wait."""

    def clear_deleted(
        self, marks: Collection[str] | None = None, *, without_live: bool = False
    ) -> list[Unswept]:
        """Remove deleted data from the database's files. Returns where some of it may be left.

        Without arguments everything is cleared. With the ``marks`` of an earlier result, at least
        the places that it named are cleared. ``without_live`` adds to these places all tables
        except those of live sessions.
        """

    def compact(self) -> list[Unswept]:
        """Make the store small. Returns what could not be done, as `clear_deleted` does.

        Unlike `clear_deleted`, it may leave deleted data in the file.
        """
        ...

    def shrink(self) -> None:
        """Free the space of deleted rows: SQLite's file shrinks, a server reuses the space."""

    def withhold_statistics(self) -> None:
        """Keep texts out of the planner's statistics, after tables were created."""

    def statistics(self) -> Iterator[tuple[str, str]]:
        """``(name, values)`` of the planner's statistics that hold values of rows."""

    def bytes_on_disk(self) -> int: ...

    def close(self) -> None: ...


def connect(where: str | Path, *, durability: str = "full", create: bool = True) -> Database:
    """The database at a path or a ``postgresql://`` address."""
    one_of("durability", durability, DURABILITIES)
    if is_unknown_address(where):
        # The message does not quote the text, because it may contain a password.
        hint = "Give the path of a file, or an address: postgresql://user@host:5432/database"
        raise StoreError("the store is neither a file nor a PostgreSQL address", hint)
    is_server = is_postgres(where)
    kind, place = ("Postgres", for_libpq(str(where))) if is_server else ("Sqlite", Path(where))
    try:
        driver = getattr(import_module(f"session_memory.store.{kind.lower()}"), kind)
    except ImportError as error:
        if not (error.name or "").startswith("psycopg") and "libpq" not in str(error):
            raise
        from session_memory.core.installation import install_hint  # noqa: PLC0415

        message = "a PostgreSQL store needs psycopg, which is not installed"
        raise StoreError(message, install_hint("postgres")) from error
    opened: Database = driver(place, durability=durability, create=create)
    return opened
