"""What the store asks of a database, and which of the two a place means.

Each statement is written once, in SQL that SQLite and PostgreSQL both take, with ``:named``
parameters. Everything in which the two differ stands in `session_memory.store.sqlite` and
`session_memory.store.postgres`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

from session_memory.core.errors import StoreError
from session_memory.core.installation import install_hint
from session_memory.store.address import is_no_path, is_postgres, spelled
from session_memory.store.word_query import WordEngine

Row = tuple[Any, ...]
Params = Mapping[str, Any]
Key = int | bytes | str

BUSY_S = 60

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def forks() -> int:
    """How often this process has been forked off: a connection from before is its parent's."""
    return _forks


class Database(Protocol):
    """One connection's worth of a database, for one thread at a time."""

    types: ClassVar[dict[str, str]]
    """What stands for the ``{words}`` in the migrations."""

    also: ClassVar[dict[int, str]]
    """Statements that a step of the migrations needs on this database alone."""

    @property
    def name(self) -> str:
        """Where it is, as anybody may see it: without a password."""

    @property
    def is_read_only(self) -> bool: ...

    # ------------------------------------------------------------ statements

    def execute(self, sql: str, params: Params | None = None) -> Iterator[Row]: ...

    def each(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        """The rows of a query without a limit, one by one: more than should be held at once."""

    def all(self, sql: str, params: Params | None = None) -> list[Row]: ...

    def one(self, sql: str, params: Params | None = None) -> Row | None: ...

    def value(self, sql: str, params: Params | None = None) -> Any: ...

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows at once, values in the order of ``columns``."""

    def next_ids(self, table: str, count: int) -> int:
        """The first of so many ids that nobody else will use; inside a transaction."""

    def insert_one(self, table: str, columns: Sequence[str], values: Sequence[Any]) -> int:
        """Insert a row; its id."""

    def update_many(self, sql: str, params: Iterable[Params]) -> None: ...

    def matching(self, sql: str, wanted: Sequence[Key]) -> Iterator[Row]:
        """Rows of ``sql``, which says ``in ({keys})``, for any number of keys of one type."""

    # ------------------------------------------------------------ transactions

    def transaction(self, *, shared: bool = False) -> AbstractContextManager[None]:
        """One write transaction, alone among all writers; inside another it joins it.

        ``shared``: where the database can lock rows it runs beside others; whoever asks for that
        locks what it relies on by writing it first.
        """

    def operation_lock(self, *, shared: bool) -> AbstractContextManager[None]:
        """A long operation on the whole store: alone, or ``shared`` with others that share it.

        Taken outside of any transaction. Inside another it joins it; whoever shares cannot have
        the store alone. Waits for a minute, then `StoreBusy`.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads that all see the same moment."""

    def loading(self) -> AbstractContextManager[None]:
        """The first load of an empty store, with whatever makes that cheaper."""

    def others_wrote(self) -> bool:
        """Whether another connection committed since the last time this was asked.

        Yes may be wrong and then costs time; no must be right.
        """

    # ------------------------------------------------------------ tables

    def ready(self) -> None:
        """Called once a database turned out to be ours: settings that stay with it."""

    def is_foreign(self, tables: Sequence[str]) -> bool:
        """Whether what is in it, where our ``tables`` would go, is another program's."""

    def has_table(self, name: str) -> bool: ...

    def columns(self, table: str) -> list[str]: ...

    def continue_ids(self, tables: Sequence[str]) -> None:
        """After rows came in with their ids: the next ids follow the highest."""

    def word_engine(self, table: str) -> WordEngine:
        """The engine that finds words, over an index of this name."""

    # ------------------------------------------------------------ maintenance

    def check(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    def backup(self, target: Path) -> bool:
        """A consistent copy made by the database itself; False where it has no file to copy."""

    def backup_before(self, step: int, now: int) -> None:
        """A copy beside it before a migration, where a migration could not be undone otherwise."""

    def vacuum(self) -> None: ...

    def bytes_on_disk(self) -> int: ...

    def close(self) -> None: ...


def connect(where: str | Path, *, durability: str = "full", create: bool = True) -> Database:
    """The database at a path or a ``postgresql://`` address."""
    if is_no_path(where):
        # Without its words: whatever it is, a password may stand in it.
        hint = "Give the path of a file, or an address: postgresql://user@host:5432/database"
        raise StoreError("that is neither a file nor the address of a PostgreSQL database", hint)
    is_server = is_postgres(where)
    kind, place = ("Postgres", spelled(str(where))) if is_server else ("Sqlite", Path(where))
    try:
        driver = getattr(import_module(f"session_memory.store.{kind.lower()}"), kind)
    except ImportError as error:
        if not (error.name or "").startswith("psycopg") and "libpq" not in str(error):
            raise
        message = "a PostgreSQL store needs psycopg, which is not installed"
        raise StoreError(message, install_hint("postgres")) from error
    opened: Database = driver(place, durability=durability, create=create)
    return opened
