"""Make empty stores for tests, on SQLite or PostgreSQL.

A test suite asks a `Stores` object for stores and need not know which database it runs on:

    stores = SqliteStores(tmp_path)                          # or PostgresStores(url)
    with stores.new() as store: ...                          # removed when it is closed
    with open_store(stores.place("memory")) as store: ...    # can be opened again
"""

import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from session_memory.core.errors import StoreBusy
from session_memory.store.database import Database
from session_memory.store.memory_store import temporary_store
from session_memory.store.postgres import Postgres
from session_memory.store.private_files import create_private
from session_memory.store.store import Store, open_store

# What a test can change about a schema: tables, indexes, columns, recorded migration steps.
_LAYOUT = """
    select md5(string_agg(part, ';' order by part)) from (
        select concat_ws(',', c.relname, c.relkind, a.attname, a.atttypid, a.attnotnull) as part
        from pg_class c
        left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = '{schema}'::regnamespace
        union all select concat('step ', step) from {schema}.schema_steps
    ) as parts
"""
_RELATIONS = """
    select relname from pg_class
    where relnamespace = '{schema}'::regnamespace and relkind = '{kind}' order by oid
"""


class Stores(Protocol):
    """An object that makes empty stores for tests on one kind of database."""

    def new(self) -> Store:
        """Return an empty store that is removed when it is closed."""

    def place(self, name: str) -> str:
        """Return the address of an empty store that can be closed and opened again.

        The same name gives the same address until the end of the test.
        """

    def empty_place(self, name: str) -> str:
        """Return the address of a store that does not exist yet. In all else it is like `place`."""

    def remove(self) -> None:
        """Remove every store that was made."""


class SqliteStores:
    """Makes SQLite stores: in memory, or as files in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def new(self) -> Store:
        return temporary_store()

    def place(self, name: str) -> str:
        path = self._directory / f"{name}.db"
        if not path.exists():
            write_empty_store(path)
        return str(path)

    def empty_place(self, name: str) -> str:
        return str(self._directory / f"{name}.db")

    def remove(self) -> None:
        """Do nothing: whoever made the directory removes it."""


def write_empty_store(path: Path) -> None:
    """Write the file of an empty store, in a tenth of the time that creating one takes."""
    create_private(path)
    path.write_bytes(_empty_store())


@cache
def _empty_store() -> bytes:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "empty.db"
        open_store(path).close()
        return path.read_bytes()


class PostgresStores:
    """Makes stores on one PostgreSQL server, each in its own schema.

    Creating the tables takes ten times as long as emptying them. So when a test is done with a
    store, the store is emptied and used for the next test. If the test changed the tables
    themselves, the schema is dropped instead.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._server = Postgres(url)
        self._template: _Template | None = None
        self._filled: dict[str, _Template] = {}
        self._free: list[str] = []
        self._opened: dict[str, Postgres] = {}
        self._named: dict[str, str] = {}

    def new(self) -> Store:
        schema = self._take()
        if schema not in self._opened:
            self._opened[schema] = Postgres(self._address(schema), durability="normal")
        return _Lent(self._opened[schema], lambda: self._give_back(schema))

    def place(self, name: str) -> str:
        if name not in self._named:
            self._named[name] = self._take()
        return self._address(self._named[name])

    def empty_place(self, name: str) -> str:
        if name not in self._named:
            self._named[name] = self._create_schema()
        return self._address(self._named[name])

    def filled_place(self, name: str, origin: str, fill: Callable[[str], object]) -> str:
        """Return the address of a store that can be opened again, filled by ``fill(address)``.

        ``fill`` is called only once for each ``origin``. Later calls with this origin copy what it
        wrote.
        """
        if origin not in self._filled:
            schema = self._create_tables()
            fill(self._address(schema))
            self._filled[origin] = _Template(self._server, schema)
        address = self.place(name)
        self._filled[origin].reset(self._named[name])
        return address

    def close_places(self) -> None:
        """Empty the stores that a test got by name, for the next test. Call it after each test."""
        named, self._named = self._named, {}
        for schema in named.values():
            self._give_back(schema)

    def remove(self) -> None:
        self.close_places()
        for schema in self._free:
            self._drop(schema)
        for template in (self._template, *self._filled.values()):
            if template is not None:
                self._drop(template.schema)
        self._server.close()

    # ------------------------------------------------------------ schemas

    def _address(self, schema: str) -> str:
        return f"{self._url}?options=-csearch_path%3D{schema}"

    def _create_schema(self) -> str:
        schema = f"test_{secrets.token_hex(8)}"
        self._server.execute(f"create schema {schema}")
        return schema

    def _create_tables(self) -> str:
        schema = self._create_schema()
        open_store(self._address(schema), durability="normal").close()
        return schema

    def _take(self) -> str:
        """Return the name of a schema with the tables of an empty store."""
        return self._free.pop() if self._free else self._create_tables()

    def _give_back(self, schema: str) -> None:
        if self._template is None:
            self._template = _Template(self._server, self._create_tables())
        try:
            if self._template.fits(schema):
                self._template.reset(schema)
                self._free.append(schema)
            else:
                self._drop(schema)
        except StoreBusy:
            # A process of the test still uses the schema. So the schema stays until the server is
            # removed.
            pass

    def _drop(self, schema: str) -> None:
        if db := self._opened.pop(schema, None):
            db.close()
        self._server.execute(f"drop schema {schema} cascade")


class _Template:
    """A schema whose contents are copied to other schemas with the same tables."""

    def __init__(self, server: Postgres, schema: str) -> None:
        self.schema = schema
        self._server = server
        self._layout = self._layout_of(schema)
        tables, sequences = self._names("r"), self._names("S")
        copies = [
            f"insert into {{schema}}.{table} select * from {schema}.{table}"
            for table in tables
            if server.one(f"select 1 from {schema}.{table} limit 1")
        ]
        counts = [
            f"perform setval('{{schema}}.{name}', last_value, is_called) from {schema}.{name}"
            for name in sequences
        ]
        # A table is created after those that it refers to, so it is emptied before them.
        deletes = [f"delete from {{schema}}.{table}" for table in reversed(tables)]
        self._script = ";\n".join(["set local lock_timeout = '5s'", *deletes, *copies, *counts])
        self._known: set[str] = set()

    def fits(self, schema: str) -> bool:
        """Whether ``schema`` has the same tables."""
        has_steps = self._server.has_table(f"{schema}.schema_steps")
        return has_steps and self._layout_of(schema) == self._layout

    def reset(self, schema: str) -> None:
        """Replace all rows of ``schema`` by those of the template.

        A database function does it: one round trip and one transaction, which the server plans
        only once.
        """
        function = f"{self.schema}.reset_{schema}()"
        if schema not in self._known:
            body = self._script.format(schema=schema)
            self._server.execute(
                f"create function {function} returns void language plpgsql"
                f" as $$ begin\n{body};\nend $$"
            )
            self._known.add(schema)
        self._server.execute(f"select {function}")

    def _layout_of(self, schema: str) -> str:
        return str(self._server.value(_LAYOUT.format(schema=schema)))

    def _names(self, kind: str) -> list[str]:
        return [
            row[0] for row in self._server.all(_RELATIONS.format(schema=self.schema, kind=kind))
        ]


class _Lent(Store):
    """A store whose schema is reused when it is closed."""

    def __init__(self, db: Database, give_back: Callable[[], None]) -> None:
        super().__init__(db)
        self._give_back: Callable[[], None] | None = give_back

    def close(self) -> None:
        if self._give_back is not None:
            give_back, self._give_back = self._give_back, None
            give_back()
