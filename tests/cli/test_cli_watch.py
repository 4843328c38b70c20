"""``watch`` as people and programs see it: lines for a log file, JSON lines, a live view."""

import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

LONGEST_S = 40.0
HOSTILE = "\x1b[2J\x1b]0;owned\x07 [bold red]x[/] \u202egnp.exe \x9b31m"
# What rich itself writes to draw and to clear its view.
DRAWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

Start = Callable[..., "subprocess.Popen[bytes]"]


def line(session: str, number: int, text: str = "go on") -> str:
    record = {
        "type": "user",
        "uuid": f"{session}-{number}",
        "sessionId": session,
        "cwd": "/srv/app",
        "timestamp": "2026-07-01T10:00:00.000Z",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(record) + "\n"


@pytest.fixture
def log(home: Path) -> Path:
    path = home / ".claude" / "projects" / "-srv-app" / "one.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(line("one", 0, "the first of all"))
    return path


@pytest.fixture
def watch(start: Start) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(*words: str, **more: object) -> "subprocess.Popen[bytes]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        started.append(start("watch", *words, **pipes))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def read_until(stream: int, *wanted: str, printed: str = "") -> str:
    """What comes out of a pipe or a terminal, until all of these stand in it."""
    latest = time.monotonic() + LONGEST_S
    while not all(text in printed for text in wanted):
        assert time.monotonic() < latest, f"{wanted} is missing in {printed!r}"
        printed += os.read(stream, 65536).decode("utf-8", "replace")
    return printed


def ended(process: "subprocess.Popen[bytes]") -> tuple[str, str]:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 0, err
    return out.decode(), err.decode()


def test_a_log_file_gets_a_line_for_each_session_that_grows(watch, log: Path) -> None:
    process = watch()
    printed = read_until(process.stdout.fileno(), "1 session, 1 new event")
    assert "~/.claude" in printed and "not there yet" in printed
    with log.open("a") as file:
        file.write(line("one", 1))
    printed = read_until(process.stdout.fileno(), "+1 of 2 events")
    assert re.search(
        r"^\d\d:\d\d:\d\d  claude  app  \+1 of 2 events  one  the first of", printed, re.M
    )
    out, err = ended(process)
    assert out.startswith("Stopped. Read ") and err == ""


def test_json_lines_tell_everything_and_are_ascii(watch, log: Path) -> None:
    process = watch("--json")
    with log.open("a") as file:
        file.write(line("one", 1, HOSTILE) + "broken\n")
    printed = read_until(process.stdout.fileno(), '"problem", "path"')
    out, err = ended(process)
    lines = (printed + out).splitlines()
    assert all(one.isascii() and one.isprintable() for one in lines)
    events = [json.loads(one) for one in lines]
    kinds = [one["event"] for one in events]
    assert (kinds[0], kinds[-1], err) == ("started", "stopped", "")
    assert {"synced", "session", "problem"} <= set(kinds)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", one["at"]) for one in events)
    (session, *_) = [one for one in events if one["event"] == "session" and one["events"] == 2]
    assert (session["session_uid"], session["flavor"]) == ("claude:one", "claude")


def test_a_quiet_watch_says_nothing_and_works(watch, log: Path, run) -> None:
    process = watch("--quiet")
    latest = time.monotonic() + LONGEST_S
    while "claude:one" not in run("sessions", "--json").stdout:
        assert time.monotonic() < latest
    assert ended(process) == ("", "")


def test_a_terminal_gets_a_view_in_which_logs_can_do_nothing(watch, log: Path) -> None:
    leader, follower = pty.openpty()
    env = {"COLUMNS": "120", "LINES": "40", "TERM": "xterm"}
    process = watch(stdout=follower, stderr=follower, env=env)
    os.close(follower)
    printed = read_until(leader, "Nobody is writing")
    evil = log.with_name("evil.jsonl")
    evil.write_text(line("evil", 0, HOSTILE))
    printed = read_until(leader, "gnp.exe", printed=printed)
    process.send_signal(signal.SIGTERM)
    printed = read_until(leader, "Stopped. Read", printed=printed)
    os.close(leader)
    assert process.wait(timeout=LONGEST_S) == 0
    assert "\x1b[2J" not in printed and "\\x1b[2J" in printed and "[bold red]x[/]" in printed
    shown = DRAWN.sub("", printed)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", shown)


def test_a_root_that_is_not_there_is_an_error_with_a_hint(run) -> None:
    result = run("watch", "--root", "/nowhere/at/all", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["kind"] == "source_unreadable"


def test_an_agent_nobody_knows_is_an_error(run) -> None:
    assert run("watch", "--flavor", "claud").exit_code == 1


def test_an_interval_that_would_never_rest_is_refused(run) -> None:
    assert run("watch", "--interval", "0").exit_code == 2


def test_a_pause_between_analyses_is_refused_without_analyses(run) -> None:
    result = run("watch", "--analyze-every", "5")
    assert result.exit_code == 2 and "--analyze-every needs --analyze" in result.stderr
