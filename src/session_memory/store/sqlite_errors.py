"""Turn apsw's exceptions into ours: a fact, and a hint."""

import os
from pathlib import Path

import apsw

from session_memory.core.errors import (
    NotAStore,
    SessionMemoryError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNotFound,
)


def translated(error: apsw.Error, path: Path) -> SessionMemoryError:
    """Our exception for an apsw error on the database at ``path``."""
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
    """Whether writing failed. A full quota or a file size limit is also reported as an IOError."""
    reading = (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS)
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) not in reading


def _disk_is_full(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False
