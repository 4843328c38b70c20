"""Empty stores for tests, on either database, made quickly.

A contract suite asks a `Stores` for them and never learns which database it runs on.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from session_memory.store.database import Database
from session_memory.store.index import WordIndex
from session_memory.store.migrations import TABLES
from session_memory.store.postgres import Postgres
from session_memory.store.store import Store, open_store

_RELATIONS = "select count(*) from pg_class where relnamespace = current_schema()::regnamespace"


class Stores(Protocol):
    """Makes stores, and removes what it made."""

    def new(self) -> Store:
        """An empty store that is gone when it is closed."""

    def place(self, name: str) -> str:
        """Where a store can be made that may be closed and opened again."""

    def remove(self) -> None: ...


class SqliteStores:
    """In memory, or as files of one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def new(self) -> Store:
        return open_store(":memory:", durability="normal")

    def place(self, name: str) -> str:
        return str(self._directory / f"{name}.db")

    def remove(self) -> None:
        """The directory is its owner's."""


class PostgresStores:
    """Each in a schema of its own. Making the tables takes longer than most tests, so stores are
    emptied and handed out again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._server = Postgres(url)
        self._free: list[Postgres] = []
        self._relations = 0
        self._named: dict[str, str] = {}

    def new(self) -> Store:
        db = self._free.pop() if self._free else self._made()
        return _Lent(db, lambda: self._take_back(db))

    def _made(self) -> Postgres:
        url = self.schema()
        open_store(url).close()
        db = Postgres(url, durability="normal")
        self._relations = int(db.value(_RELATIONS))
        return db

    def _take_back(self, db: Postgres) -> None:
        """Leave nothing of what a test did; of one that changed the tables, not even those."""
        if db.value(_RELATIONS) != self._relations:
            self._drop(db.url)
            db.close()
            return
        with db.transaction():
            for table in reversed(TABLES):
                db.execute(f"delete from {table}")
            db.continue_ids(TABLES)
            WordIndex(db).clear()
        self._free.append(db)

    def place(self, name: str) -> str:
        if name not in self._named:
            self._named[name] = self.schema()
        return self._named[name]

    def schema(self) -> str:
        """The address of a new, empty schema."""
        name = f"test_{secrets.token_hex(8)}"
        self._server.execute(f"create schema {name}")
        return f"{self._url}?options=-csearch_path%3D{name}"

    def _drop(self, url: str) -> None:
        self._server.execute(f"drop schema {url.rpartition('%3D')[2]} cascade")

    def forget_places(self) -> None:
        """After a test: the stores it made by name."""
        for url in self._named.values():
            self._drop(url)
        self._named.clear()

    def remove(self) -> None:
        self.forget_places()
        for db in self._free:
            self._drop(db.url)
            db.close()
        self._server.close()


class _Lent(Store):
    """A store that goes back to where it came from."""

    def __init__(self, db: Database, give_back: Callable[[], None]) -> None:
        super().__init__(db)
        self._give_back: Callable[[], None] | None = give_back

    def close(self) -> None:
        if self._give_back is not None:
            give_back, self._give_back = self._give_back, None
            give_back()
