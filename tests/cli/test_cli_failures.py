"""Failures: one shape for people, one for programs, and an exit status that tells them apart."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.cli.kit.failures import explained
from session_memory.core.errors import StoreFull

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("problms",), "no such command 'problms'", "Did you mean problems?"),
        (("sessions", "--jsn"), "no such option '--jsn'", "Did you mean --json"),
        (("show",), "missing argument 'UID'", "See: session-memory show --help"),
        (("sessions", "--limit", "-1"), "invalid value for '--limit'", "sessions --help"),
        (("sessions", "--since", "soon"), "not a time or period: 'soon'", "sessions --help"),
        (("restore-native",), "give the sessions to restore, or --all", "restore-native --help"),
        (("restore-native", "--all", "x"), "give the sessions to restore, or --all", "--help"),
        (("completion", "tcsh"), "'tcsh' is not one of", "completion --help"),
        (("--config", "/nowhere.toml", "config"), "'/nowhere.toml' does not exist", "--help"),
    ],
)
def test_wrong_usage_is_status_2_with_a_hint(words, message, hint, run) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    error, printed = result.stderr.splitlines()
    assert error.startswith("error: ") and message in error
    assert printed.startswith("hint: ") and hint in printed


@pytest.mark.parametrize("words", [("sessions", "--json", "--nonsense"), ("--json", "store")])
def test_wrong_usage_with_json_is_one_object_on_stderr(words, run) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert json.loads(result.stderr)["error"]["kind"] == "usage"


@pytest.mark.parametrize("word", ["91d5f0a7", "zzzz", "claude:91d4f0a8"])
def test_an_unknown_session_is_status_1_and_suggests_what_is_near(word, demo, run) -> None:
    result = run("show", word)
    assert result.exit_code == 1
    error, hint = result.stderr.splitlines()
    assert error == f"error: no session '{word}'"
    near = "Did you mean 91d4f0a7?" if "91d" in word else "List them with: session-memory sessions"
    assert hint == f"hint: {near}"


@BOTH
def test_the_json_of_a_failure_has_kind_message_and_hint(demo, run) -> None:
    result = run("show", "zzzz", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr) == {
        "error": {
            "kind": "unknown_session",
            "message": "no session 'zzzz'",
            "hint": "List them with: session-memory sessions",
        }
    }


@pytest.mark.no_store
@pytest.mark.parametrize("words", [("sessions",), ("show", "abcd"), ("problems",), ("sources",)])
def test_looking_at_a_store_that_is_not_there_does_not_make_one(words, home, run) -> None:
    result = run(*words)
    assert result.exit_code == 1
    assert "no store at" in result.stderr and "session-memory sync" in result.stderr
    assert list(home.iterdir()) == []


def test_a_file_that_is_no_store_is_left_alone(tmp_path, run) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear database, " * 100)
    result = run("sessions", "--store", str(path))
    assert result.exit_code == 1
    assert "is not a store" in result.stderr
    assert path.read_text().startswith("Dear database")


def test_a_wrong_setting_names_the_file_and_what_was_meant(tmp_path, run) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[exclude]\npath = ['*']\n")
    result = run("config", "--config", str(path))
    assert result.exit_code == 1
    assert str(path) in result.stderr and "Did you mean paths?" in result.stderr


def test_an_interrupt_is_status_130_without_a_traceback(demo, run, monkeypatch) -> None:
    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("session_memory.memory.query.SessionQuery.listing", interrupted)
    result = run("sessions")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[0] == "error: interrupted"


def test_a_bug_is_a_message_and_a_traceback_only_when_asked_for(demo, run, monkeypatch) -> None:
    def broken(self: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("session_memory.memory.query.SessionQuery.listing", broken)
    result = run("sessions")
    assert result.exit_code == 1
    assert "error: unexpected RuntimeError: oops" in result.stderr
    assert "SESSION_MEMORY_DEBUG=1" in result.stderr
    monkeypatch.setenv("SESSION_MEMORY_DEBUG", "1")
    assert isinstance(run("sessions").exception, RuntimeError)


def test_too_little_memory_is_no_bug() -> None:
    failure = explained(MemoryError())
    assert (failure.kind, failure.message) == ("out_of_memory", "there is not enough memory")
    assert failure.hint


def test_every_error_of_ours_keeps_its_kind_and_hint() -> None:
    failure = explained(StoreFull("/x"))
    assert (failure.kind, failure.status) == ("store_full", 1)
    assert failure.hint == "Free some space and run it again; nothing was lost."


def test_an_error_of_the_system_names_its_file() -> None:
    failure = explained(PermissionError(13, "Permission denied", "/x/y"))
    assert (failure.kind, failure.message) == ("os_error", "/x/y: Permission denied")


def test_a_full_disk_asks_for_space() -> None:
    failure = explained(OSError(errno.ENOSPC, "No space left on device"))
    assert failure.hint == "Free some space and run the command again."


def test_a_reader_that_leaves_early_is_no_failure(demo, start) -> None:
    process = start("show", "91d4f0a7", "--full", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


def test_a_process_that_is_interrupted_says_so_briefly(tmp_path) -> None:
    # Reading the FIFO waits for its writer: from then on the process is surely inside its sync.
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    code = f"open({str(ready)!r}, 'w').close(); import signal; signal.pause()"
    site = tmp_path / "site"
    site.mkdir()
    (site / "slow.py").write_text(
        f"import session_memory.collect.sync as s\ndef sync(*a, **k):\n    {code}\ns.sync = sync\n"
    )
    command = "import slow; from session_memory.cli import main; main(['sync'])"
    process = subprocess.Popen(
        [sys.executable, "-c", command],
        env={**os.environ, "PYTHONPATH": f"{site}:{Path(__file__).parents[2] / 'src'}"},
        stderr=subprocess.PIPE,
    )
    ready.read_bytes()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.decode().splitlines()[0] == "error: interrupted"
    assert "Traceback" not in error.decode()


def test_only_what_goes_on_says_so_when_it_is_interrupted(run, demo, monkeypatch) -> None:
    def interrupted(*args: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("session_memory.views.sessions.list_sessions", interrupted)
    monkeypatch.setattr("session_memory.collect.sync.sync", interrupted)
    looking, collecting = run("sessions"), run("sync")
    assert looking.exit_code == collecting.exit_code == 130
    assert looking.stderr == "error: interrupted\n"
    assert "run the command again to continue" in collecting.stderr
