"""Every operation with every one of its calls to the disk failing, one after the other.

Run as a program below ``disk.c``: ``fault_child.py ROOT STRIDE OPERATION…``. Prints what came of
it, one line of JSON for each call that failed, in every manner of failing. With a stride of 3 each
manner has every third call, and the manners begin at different ones. The clock stands still, so
that an operation leaves the same rows whenever it is done.
"""

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from live.disk import FROM_THEN_ON, HALF_A_WRITE, KILL, ONCE, Control
from session_memory.core import time
from session_memory.core.errors import SessionMemoryError
from session_memory.live.store import SessionStore
from session_memory.store.migrations import all_tables

LIVE = tuple(table for table in all_tables() if table.startswith("live_"))
MOMENT_NS = 1_800_000_000_000_000_000
LARGE = "large " * 20_000

Rows = dict[str, list[Any]]


def _checkpointing(store: SessionStore) -> None:
    store._db.execute("pragma wal_autocheckpoint = 1")
    store.append_message("s", role="user", content="and all goes from the log into the file")


def _several(store: SessionStore) -> None:
    items = [{"role": "user", "content": text} for text in ("one", LARGE, "three")]
    store.append_messages("s", items, key="once")


def _fold(store: SessionStore) -> None:
    store.record_compaction("s", from_seq=3, to_seq=6, note_content="what was said")


OPERATIONS: dict[str, Callable[[SessionStore], object]] = {
    "append": lambda store: store.append_message("s", role="user", content="hello"),
    "append-large": lambda store: store.append_message("s", role="user", content=LARGE),
    "append-several": _several,
    "append-and-checkpoint": _checkpointing,
    "fold": _fold,
    "unfold": lambda store: store.undo_compaction("s"),
    "rewind": lambda store: store.rewind("s", 4),
    "undo-rewind": lambda store: store.undo_rewind("t"),
    "fork": lambda store: store.fork_session("s", new_id="forked"),
    "create": lambda store: store.create_session(session_id="new", parent_session_id="s"),
    "close-session": lambda store: store.close_session("s"),
    "repair": lambda store: store.repair("t"),
    "usage": lambda store: store.record_usage("s", round_index=1, prompt_tokens=5),
    "lease": lambda store: store.acquire_lease("s", "me"),
    "load": lambda store: store.load_active_messages("s"),
    "close": lambda store: store.close(),
}
MANNERS = {
    "once": (errno.EIO, ONCE),
    "from-then-on": (errno.ENOSPC, FROM_THEN_ON),
    "half-a-write": (errno.ENOSPC, HALF_A_WRITE),
    "kill": (0, KILL),
}


def prepare(place: Path) -> None:
    """Two sessions: one folded, one rewound with a call that was never answered."""
    with SessionStore.open(place) as store:
        store.create_session(session_id="s")
        for number in range(8):
            store.append_message("s", role="user", content=f"message {number}")
        store.record_compaction("s", from_seq=1, to_seq=2, note_content="the beginning")
        store.create_session(session_id="t")
        call = [{"id": "c1", "function": {"name": "run", "arguments": "{}"}}]
        store.append_message("t", role="user", content="run it")
        store.append_message("t", role="assistant", tool_calls=call)
        store.append_message("t", role="user", content="never mind")
        store.rewind("t", 2)


def rows(store: SessionStore) -> Rows:
    with store._db.snapshot():
        return {table: store._db.all(f"select * from {table} order by 1, 2") for table in LIVE}


def rows_at(place: Path) -> Rows:
    with SessionStore.open(place) as store:
        return rows(store)


class Trial:
    """One operation, tried again and again; below ``root`` the disk is ours."""

    def __init__(self, root: Path, operation: str) -> None:
        self._root, self._base = root / operation, root.with_name(f"{operation}.db")
        self._root.mkdir()
        self._operation = OPERATIONS[operation]
        self._disk = Control()
        self._places = count()
        prepare(self._base)
        self._before = rows_at(self._base)
        self._after = self._undisturbed()

    def _copy(self) -> Path:
        place = self._root / str(next(self._places)) / "memory.db"
        place.parent.mkdir()
        shutil.copy(self._base, place)
        return place

    def _undisturbed(self) -> Rows:
        place = self._copy()
        with SessionStore.open(place) as store:
            self._operation(store)
        return rows_at(place)

    def failed(self, call: int, error: int, manner: int) -> dict[str, Any] | None:
        """What came of it when its call number so-and-so failed; none if it makes fewer."""
        place = self._copy()
        store = SessionStore.open(place)
        self._disk.arm(call, error, manner)
        result = outcome_of(lambda: self._operation(store))
        self._disk.disarm()
        if not self._disk.failed:
            store.close()
            return None
        then = self._then(store, place)
        return {"call": self._disk.failed, "error": result, "then": then, **in_the_end(place)}

    def _then(self, store: SessionStore, place: Path) -> str:
        """How the same store goes on, unless that cannot be, and what a crash would leave."""
        crashed = place.with_name("crashed.db")
        for suffix in ("", "-wal"):
            if Path(f"{place}{suffix}").exists():
                shutil.copy(f"{place}{suffix}", f"{crashed}{suffix}")
        after_a_crash = self._named(rows_at(crashed))
        now = after_a_crash
        if self._operation is not OPERATIONS["close"]:
            now = self._named(rows(store))
            store.append_message("t", role="user", content="I go on")
        store.close()
        return "torn by a crash" if after_a_crash == "torn" else now

    def killed(self, call: int) -> dict[str, Any] | None:
        """The same when the process was killed there."""
        place = self._copy()
        if not killed_at(self._disk, call, lambda: self._operation(SessionStore.open(place))):
            return None
        then = self._named(rows_at(place))
        return {"call": str(call), "error": "killed", "then": then, **in_the_end(place)}

    def _named(self, found: Rows) -> str:
        if found == self._before:
            return "before"
        return "after" if found == self._after else "torn"


class Opening:
    """The same for opening a store that is new, or that a crash has left with its log."""

    def __init__(self, root: Path, operation: str) -> None:
        self._root, self._disk, self._places = root, Control(), count()
        self._left = root.with_name("left.db") if operation == "open-after-a-crash" else None
        if self._left is not None:
            scratch = root.with_name("scratch.db")
            prepare(scratch)
            with SessionStore.open(scratch) as store:
                store.append_message("s", role="user", content="in the log alone")
                copied(scratch, self._left)
                self._expected = rows(store)

    def _place(self) -> Path:
        place = self._root / str(next(self._places)) / "memory.db"
        if self._left is not None:
            place.parent.mkdir()
            copied(self._left, place)
        return place

    def failed(self, call: int, error: int, manner: int) -> dict[str, Any] | None:
        place = self._place()
        self._disk.arm(call, error, manner)
        result = outcome_of(lambda: SessionStore.open(place).close())
        self._disk.disarm()
        if not self._disk.failed:
            return None
        return {"call": self._disk.failed, "error": result, **self._in_the_end(place)}

    def killed(self, call: int) -> dict[str, Any] | None:
        place = self._place()
        if not killed_at(self._disk, call, lambda: SessionStore.open(place).close()):
            return None
        return {"call": str(call), "error": "killed", **self._in_the_end(place)}

    def _in_the_end(self, place: Path) -> dict[str, Any]:
        with SessionStore.open(place) as store:
            is_there = self._left is None or rows(store) == self._expected
            store.append_message(store.draft_session(session_id="t"), role="user", content="first")
        return {"then": "before" if is_there else "torn", **in_the_end(place)}


def killed_at(disk: Control, call: int, operation: Callable[[], object]) -> bool:
    """Whether a process that does it came to the call with this number, where it dies."""
    pid = os.fork()
    if not pid:
        disk.arm(call, 0, KILL)
        operation()
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ended in (0, -signal.SIGKILL)
    return ended != 0


def copied(source: Path, target: Path) -> None:
    for suffix in ("", "-wal"):
        shutil.copy(f"{source}{suffix}", f"{target}{suffix}")


def in_the_end(place: Path) -> dict[str, Any]:
    """Whether a new process can go on, and what it finds."""
    with SessionStore.open(place) as store:
        store.append_message("t", role="user", content="so do I")
        said = [message.content for message in store.load_path("t")]
        return {"last": said[-1], "findings": store._db.check()}


def outcome_of(operation: Callable[[], object]) -> str:
    """``done``, the kind of an error of ours, or the name of one that should not get out."""
    try:
        operation()
    except SessionMemoryError as error:
        return error.kind if error.hint or error.kind == "store_damaged" else f"no hint: {error}"
    except Exception as error:
        return f"not ours: {error!r}"
    return "done"


def main(root: str, stride: int, *operations: str) -> None:
    time.time_ns = lambda: MOMENT_NS
    for operation in operations:
        fail_everywhere(Path(root), operation, stride)


def fail_everywhere(root: Path, operation: str, stride: int) -> None:
    kind = Opening if operation.startswith("open-") else Trial
    trial = kind(root, operation)
    for number, (name, (error, manner)) in enumerate(MANNERS.items()):
        for call in count(1 + number % stride, stride):
            is_kill = manner == KILL
            result = trial.killed(call) if is_kill else trial.failed(call, error, manner)
            if result is None:
                break
            print(json.dumps({"operation": operation, "manner": name, **result}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
