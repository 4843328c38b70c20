"""Open the SQLite databases of agents for reading. This writes nothing and stops no agent.

- A database without a write-ahead log counts as closed. It is opened as a file that does not
  change. `reading_database` checks afterwards that the file did not change.
- A database with a write-ahead log and the index of this log (``-wal`` and ``-shm``) is in use, or
  its program was killed. It is opened read-only and read in short transactions, which never stop a
  writer.
- A database with a write-ahead log but without the index is read from a copy, because opening it
  would create files beside it. A database that cannot be opened as described above is read from a
  copy, too.
"""

import base64
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped

if TYPE_CHECKING:
    import tempfile

PART = "#"
"""Separates the path of a database from the name of a session in it."""
LONGEST_VALUE = 64 * 1024 * 1024
MAGIC = b"SQLite format 3\0"
# A database is copied at most this many times, if somebody writes to it meanwhile.
TRIES = 5
BUSY_MS = 2000
_LOG_HEAD = 32

FileState = tuple[tuple[int, int, int], bytes]
"""Size, time of change and inode of a database, and the first bytes of its write-ahead log."""


class _Opened:
    """A connection to a database, with the state of the files when it was opened."""

    def __init__(self, path: Path, *, copied: bool) -> None:
        self.path = path
        self.state = _state(path)
        self.is_live = not copied and bool(self.state[1])
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        if copied:
            self._directory = _scratch()
            path = _copied(path, Path(self._directory.name))
        # Nobody else uses a copy, so its write-ahead log may be read in the ordinary way.
        how = "" if copied else "?mode=ro" if self.is_live else "?immutable=1"
        flags = apsw.SQLITE_OPEN_URI
        flags |= apsw.SQLITE_OPEN_READWRITE if copied else apsw.SQLITE_OPEN_READONLY
        try:
            self.connection = apsw.Connection(f"{path.absolute().as_uri()}{how}", flags=flags)
            self.connection.set_busy_timeout(BUSY_MS)
            self.connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            self.connection.execute("pragma trusted_schema = off")
            # The first statement that reads the files. It fails if they cannot be opened this way.
            self.connection.execute("select 1 from sqlite_schema limit 1").fetchall()
        except BaseException:
            self.close()
            raise

    def is_current(self) -> bool:
        """Whether the connection shows what is in the files now."""
        if self.is_live:
            return self.path.stat().st_ino == self.state[0][2]
        return _state(self.path) == self.state

    def is_sound(self) -> bool:
        """Whether all rows that were read show the database at one moment.

        They do so even if a write-ahead log appeared meanwhile, because the file itself did not
        change.
        """
        return self.is_live or self._directory is not None or _file(self.path) == self.state[0]

    def close(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
        if self._directory is not None:
            self._directory.cleanup()


class _Databases:
    """Keeps the last used database open while a caller is in `databases_kept`."""

    def __init__(self) -> None:
        self._depth = 0
        self._last: _Opened | None = None

    def enter(self) -> None:
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1
        if not self._depth:
            self.close()

    def get(self, path: Path) -> _Opened:
        last = self._last
        if last is not None and last.path == path and last.is_current():
            return last
        self.close()
        self._last = _opened(path)
        return self._last

    def close(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.close()


_databases = _Databases()


@contextmanager
def databases_kept() -> Iterator[None]:
    """Within this context, keep the last database open, so that it is opened once and not for each
    of its sessions."""
    _databases.enter()
    try:
        yield
    finally:
        _databases.leave()


@contextmanager
def reading_database(path: Path) -> Iterator[apsw.Connection]:
    """Give a connection to the database at ``path``, in a read transaction. Raises OSError if the
    database cannot be read.

    Leaving the context also raises OSError if somebody wrote to a database that seemed to be
    closed. Then the caller must drop all rows that it read; the next sync reads them again.
    """
    with databases_kept():
        opened = _database_at(path)
        try:
            opened.connection.execute("begin")
            try:
                yield opened.connection
            finally:
                if opened.connection.in_transaction:
                    opened.connection.execute("rollback")
        except (apsw.Error, UnicodeDecodeError) as error:
            _databases.close()
            raise OSError(f"{path.name} cannot be read: {error}") from error
        if not opened.is_sound():
            raise OSError(f"{path.name} was written to while it was read")


def _database_at(path: Path) -> _Opened:
    try:
        return _databases.get(path)
    except apsw.Error as error:
        raise OSError(f"{path.name} cannot be read: {error}") from error


def _opened(path: Path) -> _Opened:
    has_log = bool(_state(path)[1])
    if has_log and not Path(f"{path}-shm").exists():
        return _Opened(path, copied=True)
    try:
        return _Opened(path, copied=False)
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.BusyError, apsw.IOError):
        return _Opened(path, copied=True)


def _scratch() -> "tempfile.TemporaryDirectory[str]":
    # Most syncs copy nothing.
    import tempfile  # noqa: PLC0415

    return tempfile.TemporaryDirectory(prefix="session-memory-")


def _copied(path: Path, directory: Path) -> Path:
    """Copy a database and its write-ahead log; return the path of the copy.

    If the database changed meanwhile, it is copied again. The write-ahead log may grow meanwhile,
    because SQLite ignores a transaction that is cut off in the copy.
    """
    import shutil  # noqa: PLC0415

    copy = directory / "copy.db"
    for _ in range(TRIES):
        before = _state(path)
        shutil.copyfile(path, copy)
        if before[1]:
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        if _state(path) == before:
            return copy
        Path(f"{copy}-wal").unlink(missing_ok=True)
    raise OSError(f"{path.name} is being written to all the time")


def _file(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _state(path: Path) -> FileState:
    try:
        with Path(f"{path}-wal").open("rb") as log:
            head = log.read(_LOG_HEAD)
    except FileNotFoundError:
        head = b""
    return _file(path), head


def part_of_database(
    path: Path, session: str, stamp: int, home_path: str, agent: str = ""
) -> SourceRef:
    """Return the source for one session in the database at ``path``.

    ``home_path`` is the database's path below the user's home. ``stamp`` is a number that changes
    with the rows of the session.
    """
    name = fit_native_id(escaped(session))[0]
    return SourceRef(
        Path(f"{path}{PART}{name}"),
        home_path=f"{home_path}/{name}.jsonl",
        session=session,
        agent=agent,
        at=path,
        stamp=stamp,
    )


def sessions_in_database(
    path: Path,
    home_path: str,
    is_ours: Callable[[dict[str, list[str]]], bool],
    stamps: Callable[[apsw.Connection], Iterable[tuple[str, int]]],
    *,
    is_certain: bool,
) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each session of a database, if ``is_ours`` accepts its tables.

    ``stamps`` returns the id and the stamp of each session. ``is_certain``: ``path`` looks like the
    agent's own database. Then a file that cannot be read is yielded as a problem. Any other such
    file may belong to another program and is skipped.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
        if head != MAGIC:
            # An empty file is a database that is just being created.
            if is_certain and head:
                yield Unlisted(path, "it is no SQLite database")
            return
        with reading_database(path) as db:
            found = list(stamps(db)) if is_ours(tables_of(db)) else []
    except OSError as error:
        if is_certain:
            yield Unlisted(path, error.strerror or str(error))
        return
    for session, stamp in found:
        yield part_of_database(path, session, stamp, home_path)


def tables_of(db: apsw.Connection) -> dict[str, list[str]]:
    """Return the tables of a database, each with the names of its columns. Views are left out."""
    names = db.execute("select name from sqlite_schema where type = 'table'").fetchall()
    return {
        name: [row[1] for row in db.execute(f"pragma table_info({_quoted(name)})")]
        for (name,) in names
        if isinstance(name, str)
    }


def rows_in(
    db: apsw.Connection, statement: str, values: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a statement as dictionaries whose values JSON can hold exactly.

    A NULL is None, a BLOB is ``{"$blob": base64}``, and NaN or infinity is ``{"$real": text}``.
    """
    cursor = db.execute(statement, values)
    names: list[str] = []
    for row in cursor:
        names = names or [column[0] for column in cursor.get_description()]
        found = dict(zip(names, row, strict=True))
        if not _PLAIN.issuperset(map(type, row)):
            found = {name: _exact(value) for name, value in found.items()}
        yield found


_PLAIN = frozenset({str, int, type(None)})


def _exact(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$blob": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$real": repr(value)}
    return value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
