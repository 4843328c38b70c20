"""The SQLite database, through apsw: one file, no server, one writer at a time."""

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import apsw

from session_memory.core.errors import NotAStore, StoreClosed, StoreNotFound
from session_memory.store.database import Key, Params, Row, Unswept, forks
from session_memory.store.filesystems import refuse_network
from session_memory.store.late_sync import LateSync
from session_memory.store.lock_holds import HeldLock
from session_memory.store.operation_lock import OperationLock, locked_file
from session_memory.store.private_files import create_private
from session_memory.store.sqlite_clearing import cleared
from session_memory.store.sqlite_copy import write_copy
from session_memory.store.sqlite_errors import FAULTS, translated
from session_memory.store.sqlite_shrink import INCREMENTAL, checkpoint, rewrite, shrink
from session_memory.store.sqlite_waiting import use_wal
from session_memory.store.sqlite_word_index import CONFIGURE, CREATE, SqliteWordEngine
from session_memory.store.word_query import TABLE, TITLES

# After a transaction of more than `LONG_S` seconds, this process sleeps for a moment, so that
# another one can take the write lock. It sleeps longer if another process has written lately: on a
# busy machine it takes a while until a waiting process runs again.
LONG_S, GIVE_WAY_S, GIVE_WAY_SHARE, GIVE_WAY_AT_MOST_S = 0.02, 0.004, 0.1, 0.02
GIVE_WAY_TO_WRITERS_S, GIVE_WAY_TO_WRITERS_SHARE = 0.01, 0.3
PAGE_BYTES = 4096
CACHE_KIB = 24 * 1024
KEYS_AT_ONCE = 400
# A check of a store uses more than the 100 statements that apsw keeps prepared.
STATEMENTS_KEPT = 300

_inherited: list[apsw.Connection] = []


class Sqlite:
    """One SQLite file. apsw brings its own SQLite library, and no other library opens the file."""

    types: ClassVar[dict[str, str]] = {
        "blob": "blob",
        "int": "integer",
        "text": "text",
        "id": "integer primary key",
        "unique_name": " unique",
        "by_hash": "",
        "strict": " strict",
        "nulls_last": "",
    }
    also: ClassVar[dict[int, str]] = {
        4: ";\n".join(
            statement.format(table=table)
            for table in (TABLE, TITLES)
            for statement in (CREATE, CONFIGURE)
        )
    }

    def __init__(self, path: Path, *, durability: str = "full", create: bool = True) -> None:
        self.path = path.expanduser()
        self.durability = durability
        self.in_memory = str(path) == ":memory:"
        if not self.in_memory:
            refuse_network(self.path)
            self._ensure_file(create=create)
        # SQLite follows links, so the WAL and our own files are beside the file itself.
        self._file = None if self.in_memory else self.path.resolve()
        is_wanted = durability == "full" and not self.in_memory
        self.late_sync = LateSync(self._file, is_wanted=is_wanted)
        self._forks = forks()
        self._is_closed = False
        self._connection = self._connect()
        self._depth = 0
        self._data_version: int | None = None
        self._last_seen: int | None = None
        self._operation_lock = OperationLock(self._take_operation_lock)

    def _ensure_file(self, *, create: bool) -> None:
        """Create a missing file. Without ``create``, raise if it is missing or empty."""
        if self.path.is_dir():
            raise NotAStore(self.name, "it is a directory")
        if self.path.exists() and not self.path.is_file():
            raise NotAStore(self.name, "it is a device or a pipe")
        if not _is_unwritten(self.path):
            return
        if not create:
            raise StoreNotFound(self.name)
        if self.path.exists():
            # The file is not opened here, because closing it would drop the locks of other
            # connections of this process.
            self.path.chmod(0o600)
        else:
            create_private(self.path, exclusive=False)

    def _connect(self) -> apsw.Connection:
        try:
            if self.is_read_only:
                return self._open_read_only()
            path = str(self.file or self.path)
            return self._configure(apsw.Connection(path, statementcachesize=STATEMENTS_KEPT))
        except apsw.Error as error:
            raise translated(error, self.path) from error

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def file(self) -> Path | None:
        return self._file

    @property
    def is_read_only(self) -> bool:
        """Whether the file or its directory is not writable."""
        file = self.file or self.path
        places = (file, file.parent)
        return not self.in_memory and not all(os.access(place, os.W_OK) for place in places)

    def _open_read_only(self) -> apsw.Connection:
        """Open the file for reading. If it has no WAL, it does not change and needs no locks."""
        file = self.file or self.path
        quiet = not Path(f"{file}-wal").exists()
        uri = f"{file.absolute().as_uri()}?mode=ro{'&immutable=1' if quiet else ''}"
        return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _configure(self, connection: apsw.Connection) -> apsw.Connection:
        # Closing the last connection removes the WAL file. That must not happen if opening fails
        # because of a disk error: the WAL may hold the only copy of some messages.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_handler(self.late_sync.retry)
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        if self.in_memory or _is_unwritten(self.path):
            # Set only for a new file, because later this would write to the file. An older file
            # gets the setting with a `vacuum`.
            connection.execute(f"pragma auto_vacuum = {INCREMENTAL}")
        level = "full" if self.durability == "full" else "normal"
        connection.execute(f"pragma synchronous = {level}")
        connection.execute("pragma foreign_keys = on")
        connection.execute(f"pragma cache_size = -{CACHE_KIB}")
        connection.execute("pragma temp_store = memory")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        return connection

    @property
    def connection(self) -> apsw.Connection:
        """The connection of this process. Using one from before a ``fork()`` corrupts the file."""
        if self._is_closed:
            raise StoreClosed(self.name)
        if self._forks != forks():
            self._forks, self._depth = forks(), 0
            # Closing the parent's connection in the child would drop the parent's locks.
            _inherited.append(self._connection)
            self.late_sync.close()
            self._connection = self._connect()
        return self._connection

    @property
    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction)

    @property
    def is_writing(self) -> bool:
        """Whether this process has an open write transaction."""
        return bool(self._depth) and self._forks == forks()

    def execute(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        try:
            return self.connection.execute(sql, params)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def each(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        try:
            yield from self.connection.execute(sql, params)
        except FAULTS as error:
            raise translated(error, self.path) from error

    def all(self, sql: str, params: Params | None = None) -> list[Row]:
        try:
            return list(self.connection.execute(sql, params))
        except FAULTS as error:
            raise translated(error, self.path) from error

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        try:
            return next(self.connection.execute(sql, params), None)
        except FAULTS as error:
            raise translated(error, self.path) from error

    def value(self, sql: str, params: Params | None = None) -> Any:
        row = self.one(sql, params)
        return None if row is None else row[0]

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._many(_insert_statement(table, tuple(columns)), rows)

    def next_ids(self, table: str, count: int) -> int:
        """The highest id + 1. No other process can insert during a write transaction."""
        return int(self.value(f"select coalesce(max(id), 0) + 1 from {table}"))

    def insert_one(self, table: str, columns: Sequence[str], values: Sequence[Any]) -> int:
        try:
            connection = self.connection
            connection.execute(_insert_statement(table, tuple(columns)), values)
            return int(connection.last_insert_rowid())
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def changes_of(self, sql: str, params: Params) -> int:
        """Run a statement, and return how many rows it changed, in virtual tables too."""
        before = self.connection.total_changes()
        self.execute(sql, params)
        return int(self.connection.total_changes() - before)

    def update_many(self, sql: str, params: Iterable[Params]) -> None:
        self._many(sql, params)

    def _many(self, sql: str, rows: Iterable[Any]) -> None:
        try:
            self.connection.executemany(sql, rows)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def matching(self, sql: str, keys: Sequence[Key]) -> Iterator[Row]:
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            try:
                yield from self.connection.execute(sql.replace("{keys}", marks), some)
            except FAULTS as error:
                raise translated(error, self.path) from error

    @contextmanager
    def transaction(self, *, shared: bool = False) -> Iterator[bool]:
        if self.is_writing:
            yield False
            return
        held = None
        try:
            self.late_sync.choose(self.connection, shared=shared)
            self.begin()
            held = HeldLock()
            yield self.late_sync.is_late
            self.commit()
            self.late_sync.committed(self.connection)
        except BaseException:
            self.roll_back()
            if held is not None:
                held.released()
            raise
        seconds = held.released()
        if seconds > LONG_S and not (shared or self.in_memory):
            self._give_way(min(seconds, 1))

    def _give_way(self, seconds: float) -> None:
        """Sleep after a transaction of so many seconds, so that others can take the lock."""
        before, self._last_seen = self._last_seen, self.value("pragma data_version")
        if before in (None, self._last_seen):
            time.sleep(max(GIVE_WAY_S, min(GIVE_WAY_AT_MOST_S, seconds * GIVE_WAY_SHARE)))
        else:
            time.sleep(max(GIVE_WAY_TO_WRITERS_S, seconds * GIVE_WAY_TO_WRITERS_SHARE))

    def crowd(self) -> None:
        self.late_sync.crowd()

    def sync(self) -> None:
        self.late_sync.sync()

    def operation_lock(self, *, shared: bool) -> AbstractContextManager[None]:
        return self._operation_lock(shared)

    def _take_operation_lock(self, shared: bool) -> AbstractContextManager[None]:
        """Lock the store's lock file. A store in memory or a read-only store needs no lock."""
        if self.in_memory or self.is_read_only:
            return nullcontext()
        return locked_file(self.path, shared)

    def begin(self) -> None:
        try:
            self.execute("begin immediate")
            self._depth = 1
        except BaseException:
            self.roll_back()
            raise

    def commit(self) -> None:
        try:
            self.execute("commit")
            self._depth = 0
        except BaseException:
            self.roll_back()
            raise

    def roll_back(self) -> None:
        self._depth = 0
        # On a full disk SQLite has already rolled back.
        if not self._is_closed and self._connection.in_transaction:
            with suppress(apsw.Error):
                self._connection.execute("rollback")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self.connection.in_transaction:
            yield
            return
        try:
            # Inside the try block, so that an interrupt cannot leave the read transaction open.
            self.execute("begin")
            yield
        finally:
            # An error inside the block may have ended the transaction. It must not be hidden.
            with suppress(apsw.Error):
                self.connection.execute("commit")

    def ready(self) -> None:
        """Switch the file to WAL mode, in which readers and a writer do not block each other."""
        try:
            use_wal(self.connection, self.late_sync.retry)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def is_foreign(self, tables: Sequence[str]) -> bool:
        """Whether the file has tables but is not a store."""
        ours = "select 1 from sqlite_master where name = 'schema_steps'"
        return self.one(f"select 1 from sqlite_master where not exists ({ours})") is not None

    def has_table(self, name: str) -> bool:
        sql = "select 1 from sqlite_master where type = 'table' and name = :name"
        return self.one(sql, {"name": name}) is not None

    def columns(self, table: str) -> list[str]:
        return [str(row[1]) for row in self.all(f"pragma table_info({table})")]

    def continue_ids(self, tables: Sequence[str]) -> None:
        """Nothing to do: SQLite always continues from the highest id."""

    def word_engine(self, table: str) -> SqliteWordEngine:
        return SqliteWordEngine(self, table)

    def check(self) -> list[str]:
        findings = [_with_remedy(str(row[0])) for row in self.all("pragma quick_check(20)")]
        broken = [f"broken reference {row}" for row in self.all("pragma foreign_key_check")]
        return [finding for finding in findings if finding != "ok"] + broken

    def backup(self, target: Path) -> bool:
        """Write a consistent copy to a new file while others go on writing, and return True."""
        write_copy(self, target)
        return True

    def backup_before(self, step: int, now: int) -> None:
        file = self.file or self.path
        self.backup(file.with_name(f"{file.name}.before-step-{step}-{now}"))

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Use a rollback journal for the first load: it writes each page once instead of twice.

        Without effect if another process has the file open.
        """
        connection = self.connection
        connection.set_busy_timeout(0)
        try:
            connection.pragma("journal_mode", "truncate")
        except (apsw.BusyError, apsw.LockedError):
            pass
        except apsw.Error as error:
            # Changing the journal mode writes the whole WAL into the file. The disk may be full.
            raise translated(error, self.path) from error
        finally:
            connection.set_busy_handler(self.late_sync.retry)
        try:
            yield
        finally:
            # An error here must not hide an earlier one, such as a full disk.
            with suppress(apsw.Error):
                use_wal(connection, self.late_sync.retry)

    def vacuum(self) -> None:
        rewrite(self)

    def clear_deleted(
        self, marks: Collection[str] | None = None, *, without_live: bool = False
    ) -> list[Unswept]:
        shrink(self)
        if self.file is None or cleared(self, self.file):
            return []
        reason = "another program reads the store"
        remedy = "When it has ended, run: session-memory store compact"
        return [Unswept((str(self.file), f"{self.file}-wal"), reason, remedy)]

    def shrink(self) -> None:
        shrink(self)

    def compact(self) -> list[Unswept]:
        self.shrink()
        return []

    def checkpoint(self) -> bool:
        """Move the content of the WAL file into the database. False if a reader prevented it."""
        return checkpoint(self)

    def withhold_statistics(self) -> None:
        """Nothing to do: we never run ``analyze``, so there are no statistics."""

    def statistics(self) -> Iterator[tuple[str, str]]:
        return iter(())

    def write_mark(self) -> object:
        """SQLite cannot tell writers apart, so an append to a live session changes the mark too."""
        return self.value("pragma data_version")

    def others_wrote(self) -> bool:
        version = self.value("pragma data_version")
        changed = bool(version != self._data_version)
        self._data_version = version
        return changed

    def bytes_on_disk(self) -> int:
        """The size of the file without its WAL."""
        return int(self.value("pragma page_count")) * int(self.value("pragma page_size"))

    def close(self) -> None:
        self._is_closed = True
        self.late_sync.close()
        if self._forks == forks():
            self._connection.close()


@lru_cache(maxsize=64)
def _insert_statement(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"insert into {table} ({', '.join(columns)}) values ({marks})"


def _with_remedy(finding: str) -> str:
    """The finding, with the command that repairs it if it is about the word index."""
    return f"{finding}; run: session-memory store reindex" if "fts5" in finding.lower() else finding


def _is_unwritten(path: Path) -> bool:
    """Whether the file is missing or empty, so that it is not a store yet."""
    if not path.exists():
        return True
    beside = (Path(f"{path.resolve()}{end}") for end in ("-wal", "-journal"))
    return path.stat().st_size == 0 and not any(one.exists() for one in beside)
