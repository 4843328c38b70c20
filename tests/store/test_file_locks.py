"""Locks on files beside the store: nobody waits for one without limit."""

import fcntl
from pathlib import Path

import pytest

from session_memory.core.errors import StoreBusy
from session_memory.store import operation_lock
from session_memory.store.operation_lock import lock_within_a_minute


@pytest.mark.only("sqlite")
def test_a_lock_that_is_never_given_back_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_lock, "BUSY_S", 0)
    path = tmp_path / "lock"
    with path.open("w") as holder, path.open("r+") as waiting:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(StoreBusy):
            lock_within_a_minute(waiting.fileno(), str(path))
        fcntl.flock(holder, fcntl.LOCK_UN)
        lock_within_a_minute(waiting.fileno(), str(path))
