"""Sync SQLite's write-ahead log after a commit instead of within it, while several writers write.

With ``synchronous = full`` a writer waits for the disk while it holds the write lock, so all
writers together commit as often as the disk can sync. Here a writer commits without waiting,
releases the lock, and then syncs the log itself before it acknowledges. The syncs of many writers
run at the same time, in threads and in processes, and the kernel lets one flush of the disk serve
all of them. A sync covers everything that is in the log, so the order of commits is kept.

A single writer syncs within its commit: then a commit whose sync fails has no effect.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

import apsw

from session_memory.core.errors import StoreClosed, StoreError
from session_memory.store.database import BUSY_S
from session_memory.store.sqlite_waiting import pause

# For how long commits sync late after another writer was noticed.
CROWDED_S = 1.0

# macOS has no fdatasync.
_sync = getattr(os, "fdatasync", os.fsync)


class LateSync:
    """Decides when one connection syncs, and holds a descriptor of the log to sync it.

    Closing the descriptor drops no lock, because SQLite locks other files than the log.
    """

    def __init__(self, file: Path | None, *, is_wanted: bool) -> None:
        self._file = file if is_wanted else None
        self._log: int | None = None
        self._crowded_until = 0.0
        self.is_late = False

    def crowd(self) -> None:
        """Note that another writer waits or had to be waited for."""
        self._crowded_until = time.monotonic() + CROWDED_S

    def retry(self, times: int) -> bool:
        """Wait before SQLite tries again to get the write lock, which another process has.

        Returns False when SQLite should give up, after a minute.
        """
        self.crowd()
        return pause(times) < BUSY_S

    def choose(self, connection: apsw.Connection, *, shared: bool) -> None:
        """Set how the next transaction is synced. Only those of live sessions are synced late."""
        wants = shared and self._log is not None and time.monotonic() < self._crowded_until
        if wants != self.is_late:
            connection.execute(f"pragma synchronous = {'normal' if wants else 'full'}")
            self.is_late = wants

    def committed(self, connection: apsw.Connection) -> None:
        """Open the log for the next transactions, if other writers are there.

        Call it only after a commit of this connection: from then on the log stays the same file
        until the connection is closed. Without a log, as in the first load of a store, nothing is
        synced late.
        """
        if self._file is None or self._log is not None or time.monotonic() > self._crowded_until:
            return
        if connection.pragma("journal_mode") == "wal":
            with suppress(OSError):
                self._log = os.open(f"{self._file}-wal", os.O_RDWR | os.O_CLOEXEC)

    def sync(self) -> None:
        """Wait until everything that was committed is on the disk. Any thread may call it."""
        log = self._log
        try:
            if log is not None:
                _sync(log)
        except OSError as error:
            raise StoreError(
                f"{self._file} is written, but the disk did not confirm it: {error}",
                "A power cut may lose the call. Check the disk, and repeat the call with its key.",
            ) from error
        if self._log is None or self._log != log:
            # Another thread closed the descriptor. Its number may have become another file's.
            raise StoreClosed(str(self._file))

    def close(self) -> None:
        """Close the descriptor. A forked child calls it too, because it has a copy."""
        log, self._log, self.is_late = self._log, None, False
        if log is not None:
            os.close(log)
