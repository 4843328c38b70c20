"""SQLite: one file, no server, and whoever writes waits for whoever is writing."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import apsw

from session_memory.core.errors import (
    NetworkFilesystem,
    NotAStore,
    SessionMemoryError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNotFound,
)
from session_memory.store.database import BUSY_S, Key, Params, Row, forks
from session_memory.store.operation_lock import OperationLock, locked_file
from session_memory.store.private_files import create_private
from session_memory.store.sqlite_word_index import CONFIGURE, CREATE, SqliteWordEngine
from session_memory.store.word_query import TABLE, TITLES

ASKED_EVERY_S = 0.002
PAGE_BYTES = 4096
CACHE_KIB = 24 * 1024
KEYS_AT_ONCE = 400

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "ceph"})

_inherited: list[apsw.Connection] = []


class Sqlite:
    """One SQLite file through apsw, which brings its own library: nothing else opens the file."""

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
            _refuse_network(self.path)
            self._made_sure_of(create=create)
        self._forks = forks()
        self._connection = self._connect()
        self._depth = 0
        self._data_version: int | None = None
        self._operation_lock = OperationLock(self._take_operation_lock)

    def _made_sure_of(self, *, create: bool) -> None:
        """The file is there, or is made; an empty one is no store to a reader."""
        if self.path.is_dir():
            raise NotAStore(self.name, "it is a directory")
        if not _is_unwritten(self.path):
            return
        if not create:
            raise StoreNotFound(self.name)
        if self.path.exists():
            # Never opened here: closing it again would drop the locks of others in this process.
            self.path.chmod(0o600)
        else:
            create_private(self.path, exclusive=False)

    def _connect(self) -> apsw.Connection:
        try:
            if self.is_read_only:
                return self._read_only()
            return self._configured(apsw.Connection(str(self.path)))
        except apsw.Error as error:
            raise translated(error, self.path) from error

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def is_read_only(self) -> bool:
        """A copy on a medium or in a directory that we may only look at."""
        places = (self.path, self.path.parent)
        return not self.in_memory and not all(os.access(place, os.W_OK) for place in places)

    def _read_only(self) -> apsw.Connection:
        """Without a log beside it the file is all there is, and nobody can change it under us."""
        quiet = not Path(f"{self.path}-wal").exists()
        uri = f"{self.path.absolute().as_uri()}?mode=ro{'&immutable=1' if quiet else ''}"
        return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _configured(self, connection: apsw.Connection) -> apsw.Connection:
        # Whoever closes last clears the log away. On a disk that fails while it is opened, SQLite
        # was seen to do that with messages that were nowhere else.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_handler(_ask_again)
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        level = "full" if self.durability == "full" else "normal"
        connection.execute(f"pragma synchronous = {level}")
        connection.execute("pragma foreign_keys = on")
        connection.execute(f"pragma cache_size = -{CACHE_KIB}")
        connection.execute("pragma temp_store = memory")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        return connection

    @property
    def connection(self) -> apsw.Connection:
        """The connection of this process: one carried over a ``fork()`` would corrupt the file."""
        if self._forks != forks():
            self._forks, self._depth = forks(), 0
            # Closing the parent's connection here would drop the parent's locks.
            _inherited.append(self._connection)
            self._connection = self._connect()
        return self._connection

    @property
    def is_writing(self) -> bool:
        """Whether a transaction of this process is open."""
        return bool(self._depth) and self._forks == forks()

    def execute(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        try:
            return self.connection.execute(sql, params)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def each(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        try:
            yield from self.connection.execute(sql, params)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def all(self, sql: str, params: Params | None = None) -> list[Row]:
        try:
            return list(self.connection.execute(sql, params))
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        try:
            return next(self.connection.execute(sql, params), None)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def value(self, sql: str, params: Params | None = None) -> Any:
        row = self.one(sql, params)
        return None if row is None else row[0]

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._many(_insertion(table, tuple(columns)), rows)

    def next_ids(self, table: str, count: int) -> int:
        """Whoever writes is alone, so the highest id stays the highest."""
        return int(self.value(f"select coalesce(max(id), 0) + 1 from {table}"))

    def insert_one(self, table: str, columns: Sequence[str], values: Sequence[Any]) -> int:
        try:
            connection = self.connection
            connection.execute(_insertion(table, tuple(columns)), values)
            return int(connection.last_insert_rowid())
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def update_many(self, sql: str, params: Iterable[Params]) -> None:
        self._many(sql, params)

    def _many(self, sql: str, rows: Iterable[Any]) -> None:
        try:
            self.connection.executemany(sql, rows)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def matching(self, sql: str, wanted: Sequence[Key]) -> Iterator[Row]:
        for start in range(0, len(wanted), KEYS_AT_ONCE):
            some = wanted[start : start + KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            try:
                yield from self.connection.execute(sql.replace("{keys}", marks), some)
            except apsw.Error as error:
                raise translated(error, self.path) from error

    @contextmanager
    def transaction(self, *, shared: bool = False) -> Iterator[None]:
        if self.is_writing:
            yield
            return
        try:
            self.begin()
            yield
            self.commit()
        except BaseException:
            self.roll_back()
            raise

    def operation_lock(self, *, shared: bool) -> AbstractContextManager[None]:
        return self._operation_lock(shared)

    def _take_operation_lock(self, shared: bool) -> AbstractContextManager[None]:
        """Nobody else has a store in memory, and nobody changes one that may only be read."""
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
        # A full disk makes SQLite roll back on its own.
        if self._connection.in_transaction:
            with suppress(apsw.Error):
                self._connection.execute("rollback")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self.connection.in_transaction:
            yield
            return
        try:
            # Within: an interrupt right after it must not leave everybody this one moment to see.
            self.execute("begin")
            yield
        finally:
            # What went wrong may have ended it; saying so must not hide what it was.
            with suppress(apsw.Error):
                self.connection.execute("commit")

    def ready(self) -> None:
        """Readers and a writer side by side, from now on and for whoever opens the file."""
        try:
            _use_wal(self.connection)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def is_foreign(self, tables: Sequence[str]) -> bool:
        """A file belongs to one program: any table that is not ours makes it another's."""
        ours = "select 1 from sqlite_master where name = 'schema_steps'"
        return self.one(f"select 1 from sqlite_master where not exists ({ours})") is not None

    def has_table(self, name: str) -> bool:
        sql = "select 1 from sqlite_master where type = 'table' and name = :name"
        return self.one(sql, {"name": name}) is not None

    def columns(self, table: str) -> list[str]:
        return [str(row[1]) for row in self.all(f"pragma table_info({table})")]

    def continue_ids(self, tables: Sequence[str]) -> None:
        """SQLite counts on from the highest id by itself."""

    def word_engine(self, table: str) -> SqliteWordEngine:
        return SqliteWordEngine(self, table)

    def check(self) -> list[str]:
        found = [_with_remedy(str(row[0])) for row in self.all("pragma quick_check(20)")]
        broken = [f"broken reference {row}" for row in self.all("pragma foreign_key_check")]
        return [line for line in found if line != "ok"] + broken

    def backup(self, target: Path) -> bool:
        """A consistent copy while others go on writing; never over an existing file."""
        create_private(target)
        try:
            copy = apsw.Connection(str(target))
            with copy.backup("main", self.connection, "main") as work:
                while not work.done:
                    work.step(4096)
            copy.pragma("journal_mode", "delete")
            copy.close()
        except apsw.Error as error:
            target.unlink(missing_ok=True)
            raise translated(error, target) from error
        return True

    def backup_before(self, step: int, now: int) -> None:
        self.backup(self.path.with_name(f"{self.path.name}.before-step-{step}-{now}"))

    @contextmanager
    def loading(self) -> Iterator[None]:
        """The first load of an empty store: a rollback journal has nothing to journal there, so
        every page is written once instead of twice. Falls back when others have the file open."""
        connection = self.connection
        connection.set_busy_timeout(0)
        try:
            connection.pragma("journal_mode", "truncate")
        except (apsw.BusyError, apsw.LockedError):
            pass
        finally:
            connection.set_busy_handler(_ask_again)
        try:
            yield
        finally:
            # What went wrong on a full disk must not be hidden by what goes wrong after it.
            with suppress(apsw.Error):
                _use_wal(connection)

    def vacuum(self) -> None:
        self.execute("vacuum")
        self.checkpoint()

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file; a reader in the way only delays it."""
        self.execute("pragma wal_checkpoint(truncate)")

    def others_wrote(self) -> bool:
        version = self.value("pragma data_version")
        changed = bool(version != self._data_version)
        self._data_version = version
        return changed

    def bytes_on_disk(self) -> int:
        """What the file takes once the log beside it is cleared away, as closing it does."""
        return int(self.value("pragma page_count")) * int(self.value("pragma page_size"))

    def close(self) -> None:
        if self._forks == forks():
            self._connection.close()


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"insert into {table} ({', '.join(columns)}) values ({marks})"


def _with_remedy(finding: str) -> str:
    """The index of words is checked along with the rest, and is the one part to be made anew."""
    return f"{finding}; run: session-memory store reindex" if "fts5" in finding.lower() else finding


def _ask_again(times: int) -> bool:
    """Wait for whoever holds the lock, but not long: SQLite's own handler sleeps up to 100 ms at a
    time and misses the moments between the transactions of a sync beside it."""
    time.sleep(ASKED_EVERY_S)
    return times * ASKED_EVERY_S < BUSY_S


def _use_wal(connection: apsw.Connection) -> None:
    """Readers and a writer side by side. While another process loads the file for the first time
    it stays as it is, which works as well; whoever opens it next tries again."""
    if connection.pragma("journal_mode") in ("wal", "memory"):
        return
    connection.set_busy_timeout(0)
    try:
        connection.pragma("journal_mode", "wal")
    except (apsw.BusyError, apsw.LockedError):
        return
    finally:
        connection.set_busy_handler(_ask_again)


def translated(error: apsw.Error, path: Path) -> SessionMemoryError:
    """The library's exception as ours, with a hint."""
    if isinstance(error, apsw.FullError):
        return StoreFull(str(path))
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy(str(path))
    if isinstance(error, apsw.CantOpenError) and not path.exists():
        return StoreNotFound(str(path))
    if isinstance(error, apsw.IOError) and _disk_is_full(path):
        return StoreFull(str(path))
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) or _failed_to_write(error):
        hint = "Check the free space, your quota and the permissions of its directory."
        return StoreError(f"{path} cannot be written: {error}", hint)
    if isinstance(error, apsw.NotADBError):
        return NotAStore(str(path), "it is not an SQLite database")
    if isinstance(error, apsw.CorruptError | apsw.IOError):
        return StoreDamaged(str(path), str(error))
    return StoreError(f"{path}: {error}")


def _failed_to_write(error: apsw.Error) -> bool:
    """A quota and a limit on the size of files come as an input/output error too."""
    reading = (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS)
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) not in reading


def _disk_is_full(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


def _refuse_network(path: Path) -> None:
    if os.environ.get("SESSION_MEMORY_ALLOW_NETWORK_FS"):
        return
    kind = filesystem_of(path)
    if kind in _NETWORK:
        raise NetworkFilesystem(str(path), kind)


def _is_unwritten(path: Path) -> bool:
    """Not there, or empty: nobody has made a store of it yet."""
    if not path.exists():
        return True
    beside = (Path(f"{path}{end}") for end in ("-wal", "-journal"))
    return path.stat().st_size == 0 and not any(one.exists() for one in beside)


def filesystem_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system ``path`` is or will be on; empty where it cannot be told."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    target, best, kind = str(path.absolute()), -1, ""
    for line in lines:
        fields = line.split(" ")
        place = fields[1].replace("\\040", " ").rstrip("/")
        if (target == place or target.startswith(place + "/")) and len(place) > best:
            best, kind = len(place), fields[2]
    return kind
