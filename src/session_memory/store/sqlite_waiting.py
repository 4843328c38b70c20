"""How a connection to SQLite waits for the locks of others."""

import time

import apsw

from session_memory.store.database import BUSY_S

RETRY_S = 0.002


def retry(times: int) -> bool:
    """Sleep for a moment, then try again to get the lock, for up to a minute.

    SQLite's own handler sleeps up to 100 ms at a time and misses the short gaps between the
    transactions of a sync.
    """
    time.sleep(RETRY_S)
    return times * RETRY_S < BUSY_S


def busy_until() -> float:
    """Until when to wait for others, as `time.monotonic` counts."""
    return time.monotonic() + BUSY_S


def retry_until(until: float) -> bool:
    """Sleep for a moment. False if it is too late to try again."""
    time.sleep(RETRY_S)
    return time.monotonic() < until


def use_wal(connection: apsw.Connection) -> None:
    """Switch to WAL mode, unless another process is loading the file for the first time.

    Then the mode stays as it is, which also works, and the next `open_store` tries again.
    """
    if connection.pragma("journal_mode") in ("wal", "memory"):
        return
    connection.set_busy_timeout(0)
    try:
        connection.pragma("journal_mode", "wal")
    except (apsw.BusyError, apsw.LockedError):
        return
    finally:
        connection.set_busy_handler(retry)
