"""A session ended: it is collected and analyzed in the background, and the agent does not wait."""

import ctypes
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import run_hook
from session_memory.hooks.collecting import collect_ended
from session_memory.hooks.state import is_waiting, note_ended, take_ended, take_lock
from session_memory.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.stores import Stores

ONE = "0d5a3c1e-7777-4a4a-8b8b-000000000001"
OTHER = "0d5a3c1e-7777-4a4a-8b8b-000000000002"


def session(home: ClaudeHome, name: str) -> ClaudeLog:
    log = home.session(name)
    log.prompt("make the tests pass")
    log.answer("I run them.", call("Bash", command="pytest -q"))
    log.result("Exit code 1\nE   ValueError: bad kumquat", is_error=True)
    return log


def payload(log: ClaudeLog, home: Path, **more: Any) -> dict[str, Any]:
    own = {"session_id": log.session, "transcript_path": str(home / log.place), "cwd": "/x"}
    return {**own, "hook_event_name": "SessionEnd", "reason": "exit", **more}


def known(store: Store) -> dict[str, bool]:
    """Each session, and whether it was analyzed."""
    rows = store.db.all("select uid, analyzed_at is not null from sessions")
    return {uid: bool(done) for uid, done in rows}


def test_the_session_alone_is_collected_and_analyzed(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(stores.place("ended")))
    home = ClaudeHome(tmp_path)
    one = session(home, ONE)
    session(home, OTHER)
    home.write()
    note_ended("claude", ONE, is_last=True)
    collect_ended()
    with open_store(stores.place("ended")) as store:
        assert known(store) == {one.uid: True}
    assert not is_waiting() and not (tmp_path / ".session-memory/hooks/failures.jsonl").exists()


@pytest.mark.only("sqlite")
def test_a_session_that_goes_on_is_not_analyzed_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "memory.db"
    open_store(place).close()
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(place))
    home = ClaudeHome(tmp_path)
    log = session(home, ONE)
    revisions = []
    for is_last in (False, False, True):
        log.answer("Another turn.")
        home.write()
        note_ended("claude", ONE, is_last=is_last)
        collect_ended()
        with open_store(place) as store:
            row = store.sessions.row(log.uid)
            assert row is not None
            revisions.append(row.revision - (row.analyzed_revision or 0))
    assert revisions == [0, 1, 0]


@pytest.mark.only("sqlite")
def test_an_agent_without_an_adapter_and_a_missing_store_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(tmp_path / "none.db"))
    note_ended("claude", ONE, is_last=True)
    collect_ended()
    assert not (tmp_path / "none.db").exists() and not is_waiting()
    log = (tmp_path / ".session-memory/hooks/failures.jsonl").read_text()
    assert "no store at" in log
    open_store(tmp_path / "none.db").close()
    note_ended("gemini", ONE, is_last=True)
    collect_ended()
    assert (tmp_path / ".session-memory/hooks/failures.jsonl").read_text() == log


@pytest.mark.only("sqlite")
def test_one_process_at_a_time_collects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(tmp_path / "none.db"))
    note_ended("claude", ONE, is_last=True)
    with (tmp_path / ".session-memory/hooks/collect.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        collect_ended()
        assert is_waiting()


@pytest.mark.only("sqlite")
def test_while_a_process_collects_no_second_one_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    lock = take_lock()
    assert lock is not None and take_lock() is None
    given = {"hook_event_name": "SessionEnd", "session_id": ONE}
    assert run_hook(["claude", "end"], json.dumps(given).encode()) == b""
    os.close(lock)
    assert [one.session for one in take_ended()] == [ONE]


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("more", [{"session_id": "../x"}, {"session_id": 7}, {"session_id": ""}])
def test_an_odd_session_starts_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    given = {"hook_event_name": "SessionEnd", "transcript_path": "/x/.jsonl", **more}
    assert run_hook(["claude", "end"], json.dumps(given).encode()) == b""


@pytest.mark.only("sqlite")
def test_the_agent_does_not_wait_and_no_process_stays(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    open_store(place).close()
    home = ClaudeHome(tmp_path)
    log = session(home, ONE)
    home.write()
    code = "from session_memory.start import main; main()"
    words = ["hook", "claude", "end", "--store", str(place)]
    with adopted() as orphans:
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            input=json.dumps(payload(log, tmp_path)).encode(),
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            timeout=30,
            check=True,
        )
        assert (done.stdout, done.stderr) == (b"", b"")
        (background,) = orphans()
        assert os.waitpid(background, 0) == (background, 0)
    with open_store(place) as store:
        assert known(store) == {log.uid: True}


@contextmanager
def adopted() -> Iterator[Callable[[], set[int]]]:
    """Processes without a parent become children of this one. The function gives their numbers."""
    become_their_parent = 36
    libc = ctypes.CDLL(None)
    libc.prctl(become_their_parent, 1)
    before = _children()
    try:
        yield lambda: _children() - before
    finally:
        libc.prctl(become_their_parent, 0)


def _children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(number) for task in tasks for number in task.read_text().split()}
