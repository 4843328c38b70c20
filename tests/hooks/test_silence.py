"""Whatever is wrong, a hook prints nothing and ends with 0, and ``doctor`` tells why."""

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.conftest import ERROR, RunHook, claude_failure, run_hook
from session_memory.hooks.agents import AGENTS
from session_memory.hooks.events import EVENTS
from session_memory.hooks.health import hook_checks
from session_memory.hooks.running import LARGEST_INPUT, run
from session_memory.hooks.state import LARGEST_LOG, note_failure
from session_memory.store import open_store
from session_memory.store.migrations import NEWEST
from session_memory.store.quick_reading import newest_step

pytestmark = pytest.mark.only("sqlite")


def no_store(path: Path) -> None:
    pass


def an_empty_file(path: Path) -> None:
    path.touch()


def a_directory(path: Path) -> None:
    path.mkdir()


def no_database(path: Path) -> None:
    path.write_bytes(b"no database at all " * 1000)


def another_database(path: Path) -> None:
    with apsw.Connection(str(path)) as other:
        other.execute("create table songs (name text)")


def a_newer_store(path: Path) -> None:
    with open_store(path) as store:
        store.db.execute("insert into schema_steps (step, applied_at) values (999, 0)")


def an_older_store(path: Path) -> None:
    with open_store(path) as store:
        store.db.execute(f"delete from schema_steps where step = {NEWEST}")


def a_damaged_store(path: Path) -> None:
    open_store(path).close()
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (no_store, "there is no store"),
        (an_empty_file, "the store is empty"),
        (a_directory, "the store cannot be opened"),
        (no_database, "the file is not a store"),
        (another_database, "the file is not a store"),
        (a_newer_store, "the store has the schema of a newer release"),
        (an_older_store, "the store has the schema of an older release"),
        (a_damaged_store, "the store is damaged"),
    ],
)
def test_a_store_that_cannot_be_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    reason: str,
) -> None:
    place = tmp_path / "memory.db"
    make(place)
    before = place.read_bytes() if place.is_file() else None
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(place))
    given = json.dumps(claude_failure(tmp_path)).encode()
    assert run_hook(["claude", "failure"], given) == b""
    assert before is None or place.read_bytes() == before
    (check,) = hook_checks()
    assert check.status == "warn" and reason in check.text and check.hint


def test_a_locked_store(hook: RunHook, demo_store: str, tidewatch: Path) -> None:
    other = apsw.Connection(demo_store)
    other.pragma("locking_mode", "exclusive")
    for statement in ("begin exclusive", "update sessions set title = title", "commit"):
        other.execute(statement)
    try:
        assert hook("claude", "failure", claude_failure(tidewatch)) == b""
    finally:
        other.close()
    (check,) = hook_checks()
    assert "the store is locked" in check.text
    assert hook("claude", "failure", claude_failure(tidewatch))


@pytest.mark.parametrize(
    "given",
    [b"", b"rubbish", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000, b"{" + b" " * 100],
)
def test_rubbish_on_standard_input(hook: RunHook, given: bytes) -> None:
    assert hook("claude", "failure", given) == b""
    assert [check.status for check in hook_checks()] == ["warn"]


def test_a_huge_input_is_not_read_to_its_end(hook: RunHook) -> None:
    assert hook("claude", "failure", b" " * (LARGEST_INPUT + 10)) == b""


def test_a_closed_standard_input() -> None:
    kept = os.dup(0)
    os.close(0)
    try:
        pid = os.fork()
        if not pid:
            os._exit(run(["claude", "failure"]))
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_an_input_that_never_ends(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_memory.hooks.running.LONGEST_SECONDS", 0.05)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(reading, 0)
        run(["claude", "failure"])
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    os.close(reading)
    os.close(writing)
    (check,) = hook_checks()
    assert "no answer within 0.05 seconds" in check.text


def test_a_server_that_never_answers(
    home: Path, tidewatch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.hooks.running.LONGEST_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        address = f"postgresql://me@127.0.0.1:{server.getsockname()[1]}/db?sslmode=disable"
        monkeypatch.setenv("SESSION_MEMORY_STORE", f"{address}&gssencmode=disable")
        reading, writing = os.pipe()
        os.write(writing, json.dumps(claude_failure(tidewatch)).encode())
        os.close(writing)
        pid = os.fork()
        if not pid:
            os.dup2(reading, 0)
            run(["claude", "failure"])
            os._exit(1)
        os.close(reading)
        connection, _ = server.accept()
        with connection:
            connection.recv(1024)
            # "You are logged in", "I wait for a statement", and nothing after it.
            connection.sendall(b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I")
            assert os.waitpid(pid, 0)[1] == 0
    (check,) = hook_checks()
    assert "no answer within 0.5 seconds" in check.text


def test_a_hook_leaves_the_store_as_it_was(hook: RunHook, demo_store: str, tidewatch: Path) -> None:
    def files() -> dict[str, bytes]:
        return {one.name: one.read_bytes() for one in Path(demo_store).parent.iterdir()}

    before = files()
    assert hook("claude", "failure", claude_failure(tidewatch))
    assert hook("claude", "start", claude_failure(tidewatch, source="startup"))
    assert files() == before


@pytest.mark.parametrize("words", [[], ["claude"], ["nobody", "failure"], ["claude", "boom"]])
def test_wrong_words(words: list[str]) -> None:
    assert run_hook(words, b"{}") == b""


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(ERROR),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["command", "output", "exit_code", "llmContent", "text"]) | st.text(),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
NAMES = (
    *("session_id", "sessionId", "cwd", "transcript_path", "hook_event_name", "tool_input"),
    *("toolArgs", "tool_response", "toolResult", "error", "command", "output", "exit", "prompt"),
    *("source", "is_interrupt"),
)


@settings(max_examples=times(60), deadline=None)
@given(
    agent=st.sampled_from(sorted(AGENTS)),
    event=st.sampled_from([one for one in EVENTS if one != "end"]),
    values=st.dictionaries(st.sampled_from(NAMES), VALUES),
)
def test_any_input(
    demo_store: str,
    agent: str,
    event: str,
    values: dict[str, object],
) -> None:
    os.environ["SESSION_MEMORY_STORE"] = demo_store
    try:
        printed = run_hook([agent, event], json.dumps(values).encode())
    finally:
        del os.environ["SESSION_MEMORY_STORE"]
    if printed:
        assert isinstance(json.loads(printed), dict)


def test_the_log_of_failures_stays_small_and_private(home: Path) -> None:
    for _ in range(2_000):
        note_failure("claude", "failure", "x" * 1_000)
    directory = home / ".session-memory" / "hooks"
    assert sum(one.stat().st_size for one in directory.iterdir()) < 2 * LARGEST_LOG + 1_000
    assert stat.S_IMODE((directory / "failures.jsonl").stat().st_mode) == 0o600
    for one in (directory, directory.parent):
        assert stat.S_IMODE(one.stat().st_mode) == 0o700
    (check,) = hook_checks()
    assert len(check.text) < 500


def test_doctor_is_silent_about_hooks_that_were_never_used(hook: RunHook, tidewatch: Path) -> None:
    assert list(hook_checks()) == []
    assert hook("claude", "failure", claude_failure(tidewatch))
    assert [check.status for check in hook_checks()] == ["ok"]


def test_the_number_of_steps_is_known_without_loading_them() -> None:
    assert newest_step() == NEWEST
