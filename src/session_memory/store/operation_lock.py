"""The lock for long operations on a store: exclusive, or shared with other shared operations.

Evicting, forgetting, restoring and exporting first select data and change it later, in several
transactions. No other process may collect, derive or analyze in between. Appends to live sessions
do not take this lock. If a process is killed, the operating system or the server releases its lock.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from session_memory.core.errors import StoreBusy, StoreError
from session_memory.store.database import BUSY_S, forks

RETRY_S = 0.05
SHORT_RETRY_S = 0.002
_SHARED_COMMANDS = "sync, watch, analyze, reindex, rebuild or import"
_EXCLUSIVE_COMMANDS = "retain, forget, restore or lake export"

Take = Callable[[bool], AbstractContextManager[None]]


class OperationLock:
    """The lock of one store, per thread. A nested lock joins the outer one."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._held = threading.local()

    @contextmanager
    def __call__(self, shared: bool) -> Iterator[None]:
        held: tuple[bool, int] | None = getattr(self._held, "now", None)
        if held is not None and held[1] == forks():
            if held[0] and not shared:
                raise RuntimeError("a shared lock cannot become exclusive: release it first")
            yield
            return
        with self._take(shared):
            self._held.now = (shared, forks())
            try:
                yield
            finally:
                self._held.now = None


@contextmanager
def locked_file(store: Path, shared: bool) -> Iterator[None]:
    """Lock the empty file ``<store>.lock`` beside the store. The file is never removed."""
    file = Path(f"{store.resolve()}.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        opened = os.open(file, flags, 0o600)
    except OSError as error:
        hint = "Check the free space and the permissions of its directory."
        raise StoreError(f"{file} cannot be opened: {error.strerror}", hint) from error
    mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB

    def take() -> bool:
        try:
            fcntl.flock(opened, mode)
        except BlockingIOError:
            return False
        return True

    try:
        wait_for(take, str(store), shared=shared)
        yield
    finally:
        # Unlocked explicitly, because a forked child also has the file open.
        fcntl.flock(opened, fcntl.LOCK_UN)
        os.close(opened)


def lock_within_a_minute(descriptor: int, name: str) -> None:
    """Lock an open file exclusively. Raises `StoreBusy` after a minute.

    A process that was stopped while it holds the lock would never release it.
    """
    until = time.monotonic() + BUSY_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise StoreBusy(name) from None
            time.sleep(SHORT_RETRY_S)
        else:
            return


def wait_for(take: Callable[[], bool], name: str, *, shared: bool) -> None:
    """Call ``take`` until it succeeds. After a minute, raise `StoreBusy`."""
    until = time.monotonic() + BUSY_S
    while not take():
        if time.monotonic() >= until:
            error = StoreBusy(name)
            others = (
                _EXCLUSIVE_COMMANDS if shared else f"{_SHARED_COMMANDS}, or {_EXCLUSIVE_COMMANDS}"
            )
            error.hint = f"Another command is running: {others}. Run this one again afterwards."
            raise error
        time.sleep(RETRY_S)
