"""How a connection to SQLite waits for the locks of others."""

import time
from collections.abc import Callable

import apsw

from session_memory.store.database import BUSY_S

RETRY_S = 0.002
# Live appends hold the lock for less than this, so the first pauses are short.
SHORTEST_S, SHORT_RETRIES = 0.0002, 9


def retry(times: int) -> bool:
    """Sleep for a moment before SQLite tries again to get a lock. False after a minute: give up.

    SQLite's own handler sleeps up to 100 ms at a time and misses the short gaps between the
    transactions of a sync.
    """
    return pause(times) < BUSY_S


def pause(times: int) -> float:
    """Sleep once more after ``times`` sleeps, and return about how many seconds all of them took.

    The first sleeps are short and not counted.
    """
    time.sleep(min(RETRY_S, SHORTEST_S * (times + 1)))
    return max(0, times - SHORT_RETRIES) * RETRY_S


def busy_until() -> float:
    """The time, as `time.monotonic` counts, until which to wait for others."""
    return time.monotonic() + BUSY_S


def retry_until(until: float) -> bool:
    """Sleep for a moment. False if it is too late to try again."""
    time.sleep(RETRY_S)
    return time.monotonic() < until


def use_wal(connection: apsw.Connection, busy_handler: Callable[[int], bool]) -> None:
    """Switch to WAL mode, unless another process is loading the file for the first time.

    Then the mode stays as it is, which also works, and the next `open_store` tries again. The
    connection has the ``busy_handler`` afterwards.
    """
    if connection.pragma("journal_mode") in ("wal", "memory"):
        return
    connection.set_busy_timeout(0)
    try:
        connection.pragma("journal_mode", "wal")
    except (apsw.BusyError, apsw.LockedError):
        return
    finally:
        connection.set_busy_handler(busy_handler)
