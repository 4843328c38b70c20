"""Turn apsw's exceptions into ours: a fact, and a hint."""

import os
from pathlib import Path

import apsw

from session_memory.core.errors import (
    NotAStore,
    SessionMemoryError,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNotFound,
)

# What reading rows can raise. A text that is not UTF-8 is a damaged one: all were written as UTF-8.
FAULTS = (apsw.Error, UnicodeDecodeError)


def translated(error: apsw.Error | UnicodeDecodeError, path: Path) -> SessionMemoryError:
    """Our exception for an apsw error on the database at ``path``."""
    if isinstance(error, apsw.ConnectionClosedError | apsw.CursorClosedError):
        # The store was closed while its rows were read.
        return StoreClosed(str(path))
    if isinstance(error, apsw.FullError):
        return StoreFull(str(path))
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy(str(path))
    if isinstance(error, apsw.CantOpenError) and not path.exists():
        return StoreNotFound(str(path))
    if isinstance(error, apsw.IOError) and _disk_is_full(path):
        return StoreFull(str(path))
    if isinstance(error, apsw.ReadOnlyError):
        hint = (
            "You may only read this store. Let its owner run this, get write permission for the"
            " file and its directory, or work on a copy: session-memory store backup FILE"
        )
        return StoreError(f"{path} cannot be written: {error}", hint)
    if isinstance(error, apsw.CantOpenError) and not _is_readable(path):
        hint = f"Get read permission for {path.name}, and for {path.name}-wal and -shm beside it."
        return StoreError(f"{path} cannot be read: {error}", hint)
    if isinstance(error, apsw.CantOpenError) or _failed_to_write(error):
        hint = "Check the free space, your quota and the permissions of its directory."
        return StoreError(f"{path} cannot be written: {error}", hint)
    if isinstance(error, apsw.NotADBError):
        return NotAStore(str(path), "it is not an SQLite database")
    if isinstance(error, apsw.CorruptError | apsw.IOError | UnicodeDecodeError):
        damaged = StoreDamaged(str(path), str(error))
        damaged.in_database = True
        return damaged
    return StoreError(f"{path}: {error}")


def _is_readable(path: Path) -> bool:
    """Whether we may read the file, and those that SQLite keeps beside it."""
    files = (path, *(Path(f"{path}{end}") for end in ("-wal", "-shm")))
    return all(os.access(file, os.R_OK) for file in files if file.exists())


def _failed_to_write(error: Exception) -> bool:
    """Whether writing failed. A full quota or a file size limit is also reported as an IOError."""
    reading = (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS)
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) not in reading


def _disk_is_full(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False
