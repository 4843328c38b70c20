"""A lock file for each mycode session, so that only one process at a time has it open."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from session_memory.core.errors import SessionMemoryError

NAME = "lock"


class SessionLockedError(SessionMemoryError):
    """Another process has the session open."""


class SessionLock:
    """Holds the lock of a session until `release`. The system releases it when a process dies."""

    def __init__(self, handle: IO[str]) -> None:
        self._handle = handle

    def release(self) -> None:
        """Release the lock. A directory with nothing but the lock is removed."""
        if self._handle.closed:
            return
        path = Path(self._handle.name)
        with suppress(OSError):
            if [entry.name for entry in path.parent.iterdir()] == [path.name]:
                # Delete the file first: a process that has it open notices that it is gone.
                path.unlink()
                path.parent.rmdir()
        self._handle.close()

    def __enter__(self) -> "SessionLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def lock_session(directory: Path, session_id: str, holder: str) -> SessionLock:
    """Lock a session. ``holder`` names the owner in the error that other processes get."""
    path = directory / NAME
    while True:
        directory.mkdir(parents=True, exist_ok=True)
        try:
            handle = path.open("a+", encoding="utf-8")
        except FileNotFoundError:
            # A holder that released its lock removed the directory.
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with handle:
                handle.seek(0)
                owner = handle.read().strip() or "another process"
            raise SessionLockedError(
                f"session {session_id} is in use by {owner}", "Close it there first."
            ) from None
        if _is_at(handle, path):
            break
        handle.close()
    handle.truncate(0)
    handle.write(f"{holder} (pid {os.getpid()})")
    handle.flush()
    return SessionLock(handle)


def _is_at(handle: IO[str], path: Path) -> bool:
    """Whether the open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False
