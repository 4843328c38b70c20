"""Clear deleted data from a SQLite file while others go on writing.

`vacuum` would do it too, but it locks others out for as long as it takes to write the whole file.
So the file is cleared in these steps:

1. All pages are moved from the WAL into the file, and a read transaction is opened. While it is
   open, no process writes the file, because a checkpoint may not move pages that an older reader
   must not see. What others commit goes to the WAL.
2. Deleted data in the file is overwritten.
3. Pages that came into the WAL meanwhile may hold copies of deleted data, because other processes
   had read the pages before. The write lock is taken, and these few pages are moved into the file
   and cleared.
4. A commit makes all other processes read their pages anew.
"""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from session_memory.core.errors import StoreBusy, StoreError
from session_memory.store.lock_holds import HeldLock
from session_memory.store.sqlite_errors import translated
from session_memory.store.sqlite_pages import SqlitePages, WalPlace, wal_pages, wal_salt
from session_memory.store.sqlite_shrink import HELD_MS, rewrite
from session_memory.store.sqlite_waiting import RETRY_S, busy_until, retry, retry_until

if TYPE_CHECKING:
    from session_memory.store.sqlite import Sqlite

# At most this many pages are moved and cleared under the write lock. If there are more, they are
# first cleared without it.
FEW_PAGES = 200
# After this many rounds, all remaining pages are cleared under the lock. Otherwise the clearing
# might never end beside busy writers.
MOST_ROUNDS = 20
LOCK_S = 1.0
# A commit without a change would not be noticed by others.
_CHANGE = (
    "insert into tombstones (key, kind, with_key, forgotten_at) values ('cleared', '', '', 0)",
    "delete from tombstones where key = 'cleared'",
)
_descriptors: dict[tuple[int, int], int] = {}


def left_open(file: Path) -> int:
    """Open the file, and never close it: that would drop this process's SQLite locks."""
    known = file.stat()
    key = (known.st_dev, known.st_ino)
    if key not in _descriptors:
        access = os.O_RDWR if os.access(file, os.W_OK) else os.O_RDONLY
        _descriptors[key] = os.open(file, access | os.O_CLOEXEC)
    return _descriptors[key]


def cleared(db: "Sqlite", file: Path) -> bool:
    """Clear all deleted data from a file. False if other readers prevented it."""
    if db.value("pragma journal_mode") != "wal":
        # The file could not be switched to a WAL. Then other processes wait for each other anyway,
        # so the file is rewritten as a whole.
        rewrite(db)
        return True
    try:
        with closing(_Clearing(db, file)) as clearing:
            return clearing.run()
    except apsw.Error as error:
        raise translated(error, file) from error
    except OSError as error:
        hint = "Check the disk, then run: session-memory store compact"
        raise StoreError(f"{file} cannot be cleared: {error.strerror}", hint) from error


class _Clearing:
    """Clears one file, with two connections beside that of the store.

    ``_writer`` takes the write lock. The read transaction of ``_reader`` keeps all processes from
    writing the file.
    """

    def __init__(self, db: "Sqlite", file: Path) -> None:
        self._db = db
        self._file = file
        self._wal = Path(f"{file}-wal")
        self._until = busy_until()
        self._writer = self._connect()
        self._writer.set_busy_handler(lambda times: times * RETRY_S < LOCK_S and retry(times))
        self._reader = self._connect()
        self._since = WalPlace()

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._file))
        connection.set_busy_handler(retry)
        return connection

    def close(self) -> None:
        self._writer.close()
        self._reader.close()

    def run(self) -> bool:
        page_bytes = self._pages().page_bytes
        # The pages that are not cleared yet. None means: all.
        pending: set[int] | None = None
        for count in itertools.count():
            try:
                with self._write_lock():
                    if pending is not None:
                        pending |= wal_pages(self._wal, page_bytes, self._since)
                    self._hold_back()
                # Most pages are moved here, while nobody waits.
                self._move()
                with self._write_lock():
                    if pending is not None:
                        pending |= wal_pages(self._wal, page_bytes, self._since)
                    is_few = pending is not None and len(pending) <= FEW_PAGES
                    self._let_go()
                    is_whole = self._move_all()
                    if is_whole and (is_few or count > MOST_ROUNDS):
                        self._pages().clear(pending)
                        self._change()
                        break
                    self._hold_back()
            except apsw.BusyError:
                # Another program holds the write lock and may wait until nobody reads.
                self._let_go()
                is_whole, pending = False, None
            if is_whole:
                self._pages().clear(pending)
                pending = set()
            elif not retry_until(self._until):
                return False
        return self._db.checkpoint()

    def _pages(self) -> SqlitePages:
        return SqlitePages(self._file, left_open(self._file))

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        self._writer.execute("begin immediate")
        held = HeldLock()
        try:
            yield
        finally:
            if self._writer.in_transaction:
                self._writer.execute("rollback")
            held.released("clearing")

    def _hold_back(self) -> None:
        """Keep what is written from now on out of the file. Needs the write lock."""
        self._let_go()
        self._reader.execute("begin")
        list(self._reader.execute("select 1 from sqlite_schema limit 1"))
        self._since = WalPlace(wal_salt(self._wal), self._frames()[0])

    def _let_go(self) -> None:
        if self._reader.in_transaction:
            self._reader.execute("rollback")

    def _move(self) -> bool:
        """Move pages from the WAL into the file, as far as no reader needs the earlier state.

        Returns whether all were moved. Only then all pages in the file belong to the same state:
        before that, a page is left out if the WAL has a later version of it.
        """
        self._db.one("pragma wal_checkpoint(passive)")
        last, moved = self._frames()
        return moved == last

    def _move_all(self) -> bool:
        """Move all pages from the WAL into the file. Returns whether that succeeded.

        Waits a moment for others that read. Needs the write lock.
        """
        until = time.monotonic() + HELD_MS / 1000
        while not (is_whole := self._move()) and retry_until(until):
            pass
        return is_whole

    def _frames(self) -> tuple[int, int]:
        """The number of frames in the WAL, and of those that were moved into the file."""
        while True:
            _, last, moved = self._db.one("pragma wal_checkpoint(noop)") or (1, -1, -1)
            if last >= 0:
                return int(last), int(moved)
            if not retry_until(self._until):
                raise StoreBusy(self._db.name)

    def _change(self) -> None:
        for statement in _CHANGE:
            self._writer.execute(statement)
        self._writer.execute("commit")
