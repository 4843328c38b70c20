"""Read a few rows of a store at once, for a hook that an agent waits for.

It writes, migrates and repairs nothing, and waits only a moment for a lock. It does not load the
modules that `Store` needs, because loading them takes longer than the whole answer may take.
"""

import os
from importlib import import_module

TYPE_CHECKING = False  # Type checkers treat this name as true. Importing `typing` takes time.
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Row = tuple[Any, ...]

LOCK_MS = 40
KEYS_AT_ONCE = 400
SERVER_SECONDS = 2
SERVER_MS = 250
_SERVER_SETTINGS = f"set default_transaction_read_only = on; set statement_timeout = {SERVER_MS}"
_SCHEMA = "select max(step) from schema_steps"


class CannotRead(Exception):
    """The store cannot be read now. The message says why and has nothing of its content."""


class QuickReader:
    """A store that is open for reading, with the methods of a `Database` that read a few rows.
    A statement is the same for SQLite and PostgreSQL."""

    def __init__(self, where: str) -> None:
        is_server = where.strip().lower().startswith(("postgres://", "postgresql://"))
        self._rows = _server(where) if is_server else _file(where)
        try:
            self._check_schema()
        except CannotRead:
            self.close()
            raise

    def _check_schema(self) -> None:
        found = self.all(_SCHEMA)[0][0] or 0
        if found != newest_step():
            age = "a newer" if found > newest_step() else "an older"
            raise CannotRead(f"the store has the schema of {age} release")

    def all(self, sql: str, params: "Mapping[str, Any] | None" = None) -> "list[Row]":
        return self._rows(sql, dict(params or {}))

    def one(self, sql: str, params: "Mapping[str, Any] | None" = None) -> "Row | None":
        return next(iter(self.all(sql, params)), None)

    def value(self, sql: str, params: "Mapping[str, Any] | None" = None) -> "Any":
        row = self.one(sql, params)
        return None if row is None else row[0]

    def matching(
        self, sql: str, keys: "Sequence[Any]", params: "Mapping[str, Any] | None" = None
    ) -> "Iterator[Row]":
        """Rows of ``sql``, which contains ``in ({keys})``. Keys are taken some at a time."""
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            given = {f"k{number}": key for number, key in enumerate(some)}
            named = ", ".join(f":{name}" for name in given)
            yield from self.all(sql.replace("{keys}", named), {**given, **(params or {})})

    def close(self) -> None:
        self._rows.close()


def newest_step() -> int:
    """The number of the last migration step of this release, without loading the steps."""
    with os.scandir(os.path.join(os.path.dirname(__file__), "steps")) as found:
        return sum(one.name.startswith("step") and one.name.endswith(".py") for one in found)


def _file(where: str) -> "_FileRows":
    path = os.path.realpath(os.path.expanduser(where))
    try:
        if not os.stat(path).st_size and not _size(f"{path}-wal"):
            raise CannotRead("the store is empty")
    except FileNotFoundError:
        raise CannotRead("there is no store") from None
    except OSError as error:
        raise CannotRead(f"the store cannot be opened: {type(error).__name__}") from None
    return _FileRows(path)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


class _FileRows:
    def __init__(self, path: str) -> None:
        self._apsw = apsw = import_module("apsw")
        may_write = all(os.access(one, os.W_OK) for one in (path, os.path.dirname(path)))
        try:
            if may_write:
                # A reader of a file with a WAL needs its shared memory, and may have to create it.
                flags = apsw.SQLITE_OPEN_READWRITE
                connection = apsw.Connection(path, flags=flags)
                if _size(f"{path}-wal"):
                    # Closing the last connection would copy the WAL into the file, which is slow.
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            else:
                from urllib.parse import quote

                quiet = "" if os.path.exists(f"{path}-wal") else "&immutable=1"
                flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
                connection = apsw.Connection(f"file:{quote(path)}?mode=ro{quiet}", flags=flags)
            connection.set_busy_timeout(LOCK_MS)
            connection.execute("pragma query_only = on")
        except apsw.Error as error:
            raise CannotRead(self._reason(error)) from None
        self._connection = connection

    def __call__(self, sql: str, params: "dict[str, Any]") -> "list[Row]":
        try:
            return list(self._connection.execute(sql, params))
        except (self._apsw.Error, UnicodeDecodeError) as error:
            raise CannotRead(self._reason(error)) from None

    def _reason(self, error: Exception) -> str:
        apsw = self._apsw
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return "the store is locked"
        if isinstance(error, apsw.NotADBError):
            return "the file is not a store"
        if isinstance(error, apsw.CorruptError | apsw.IOError | UnicodeDecodeError):
            return "the store is damaged"
        if isinstance(error, apsw.SQLError):
            return "the file is not a store of this release"
        return f"the store cannot be opened: {type(error).__name__}"

    def close(self) -> None:
        self._connection.close()


def _server(where: str) -> "_ServerRows | _LibraryRows":
    url = import_module("session_memory.store.address").for_libpq(where)
    libpq = import_module("session_memory.store.libpq_rows").library()
    try:
        return _ServerRows(url) if libpq is None else _LibraryRows(libpq, url)
    except ImportError:
        raise CannotRead("psycopg is not installed") from None


class _LibraryRows:
    """A connection to a server through libpq, without psycopg."""

    def __init__(self, libpq: "Any", url: str) -> None:
        self._used = import_module("session_memory.store.libpq_rows")
        try:
            self._rows = self._used.LibpqRows(libpq, url, SERVER_SECONDS, _SERVER_SETTINGS)
        except self._used.ServerError as error:
            raise CannotRead(_no_answer(error)) from None

    def __call__(self, sql: str, params: "dict[str, Any]") -> "list[Row]":
        try:
            found: list[Row] = self._rows(sql, params)
        except self._used.ServerError as error:
            raise CannotRead(_no_answer(error)) from None
        return found

    def close(self) -> None:
        self._rows.close()


class _ServerRows:
    def __init__(self, url: str) -> None:
        self._psycopg = import_module("psycopg")
        self._to_psycopg = import_module("session_memory.store.postgres_sql").to_psycopg
        try:
            self._connection = self._psycopg.connect(
                url, autocommit=True, connect_timeout=SERVER_SECONDS
            )
            # The settings are not given as options of the connection, because they would replace
            # the options of the address.
            self._connection.execute(_SERVER_SETTINGS)
        except self._psycopg.Error as error:
            raise CannotRead(_no_answer(error)) from None

    def __call__(self, sql: str, params: "dict[str, Any]") -> "list[Row]":
        try:
            found: list[Row] = self._connection.execute(self._to_psycopg(sql), params).fetchall()
        except self._psycopg.Error as error:
            raise CannotRead(_no_answer(error)) from None
        return found

    def close(self) -> None:
        self._connection.close()


def _no_answer(error: Exception) -> str:
    # The message of the server may quote the address with its password.
    return f"the server does not answer: {type(error).__name__}"
