"""Long operations on one store: some need it alone, the others share it.

What evicts, forgets, restores or exports chooses first and changes later, outside of any one
transaction; nobody may collect, derive or analyze in between. Appends of live sessions take no part
in this. Whoever is killed lets go: the operating system or the server sees to it.
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

ASKED_EVERY_S = 0.05
_SHARING = "sync, watch, analyze, reindex, rebuild or import"
_ALONE = "retain, forget, restore or lake export"

Take = Callable[[bool], AbstractContextManager[None]]


class OperationLock:
    """What the threads of this process hold of one store: inside another, a hold joins it."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._held = threading.local()

    @contextmanager
    def __call__(self, shared: bool) -> Iterator[None]:
        held: tuple[bool, int] | None = getattr(self._held, "now", None)
        if held is not None and held[1] == forks():
            if held[0] and not shared:
                raise RuntimeError("who shares a store cannot have it alone: let go of it first")
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
    """The file beside a store that says who works on it; it holds nothing, and stays."""
    file = Path(f"{store.resolve()}.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        opened = os.open(file, flags, 0o600)
    except OSError as error:
        hint = "Check the free space and the permissions of its directory."
        raise StoreError(f"{file} cannot be opened: {error.strerror}", hint) from error
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB

    def take() -> bool:
        try:
            fcntl.flock(opened, how)
        except BlockingIOError:
            return False
        return True

    try:
        wait_for(take, str(store), shared=shared)
        yield
    finally:
        # Said in so many words: a child that was forked off meanwhile has the file open too.
        fcntl.flock(opened, fcntl.LOCK_UN)
        os.close(opened)


def wait_for(take: Callable[[], bool], name: str, *, shared: bool) -> None:
    """Try to take it until that works, or `StoreBusy` tells whom to wait for."""
    until = time.monotonic() + BUSY_S
    while not take():
        if time.monotonic() >= until:
            error = StoreBusy(name)
            others = _ALONE if shared else f"{_SHARING}, or {_ALONE}"
            error.hint = f"Another command is at work on it: {others}. Run it again afterwards."
            raise error
        time.sleep(ASKED_EVERY_S)
