"""``stats``: what it prints, how it fits, and what a hostile log makes of it."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from datetime import date
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from session_memory.cli import main
from session_memory.cli.commands.look.stats import SECTIONS
from session_memory.cli.lines.bars import ASCII, BLOCKS
from session_memory.cli.lines.calendar import day_lines, every_day
from session_memory.render.text import width
from session_memory.testing.claude import ClaudeHome, call
from session_memory.views import stats

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

ANSI = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r\b"


def on_a_terminal(start, columns: int, *words: str, **env: str) -> str:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    printed = {"COLUMNS": str(columns), "TERM": "xterm-256color", **env}
    process = start(*words, stdout=follower, stderr=subprocess.DEVNULL, env=printed)
    os.close(follower)
    seen = b""
    # The end of a terminal is an error on Linux and an empty read elsewhere.
    try:
        while piece := os.read(leader, 65536):
            seen += piece
    except OSError:
        pass
    os.close(leader)
    assert process.wait(timeout=60) == 0
    return seen.decode()


def test_the_command_names_the_sections_there_are() -> None:
    assert SECTIONS == stats.SECTIONS


@BOTH
def test_everything_is_shown_unless_sections_are_named(demo, run) -> None:
    whole = run("stats", "--json")
    assert list(json.loads(whole.stdout)) == ["wanted", *SECTIONS]
    some = json.loads(run("stats", "files", "--section", "tools", "--json").stdout)
    assert list(some) == ["wanted", "tools", "files"]
    printed = run("stats", "tools").stdout
    assert printed.startswith("Tools") and "Test runs" not in printed


@BOTH
def test_json_holds_plain_figures(demo, run) -> None:
    found = json.loads(run("stats", "--limit", "0", "--tz", "Asia/Tokyo", "--json").stdout)
    listed = json.loads(run("sessions", "--limit", "0", "--json").stdout)["sessions"]
    assert found["wanted"]["tz"] == found["activity"]["tz"] == "Asia/Tokyo"
    assert found["summary"]["sessions"] == found["sessions"]["total"] == len(listed)
    assert found["summary"]["turns"] == sum(one["cost"]["turns"] for one in listed)
    assert found["tools"]["total"] == len(found["tools"]["rows"])
    assert len(found["activity"]["weekdays"]) == 7


@BOTH
def test_filters_leave_what_they_say(demo, run) -> None:
    def summary(*words: str) -> dict[str, int]:
        printed = run("stats", "summary", *words, "--json")
        assert printed.exit_code == 0, printed.output
        return dict(json.loads(printed.stdout)["summary"])

    whole = summary()
    repos = [
        row["name"] for row in json.loads(run("stats", "repos", "--json").stdout)["repos"]["rows"]
    ]
    assert len(repos) > 1
    assert sum(summary("--repo", repo)["events"] for repo in repos) == whole["events"]
    assert summary("--repo", f"{repos[0][:3]}*")["events"] >= summary("--repo", repos[0])["events"]
    assert summary("--flavor", "codex")["sessions"] == 0
    before = summary("--until", whole["first_day"])
    after = summary("--since", whole["last_day"])
    assert 0 < before["turns"] < whole["turns"] and 0 < after["events"] < whole["events"]


@pytest.mark.only("sqlite")  # The database makes no difference to a terminal.
@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_every_line_fits_the_terminal(columns, encoding, demo, start) -> None:
    printed = on_a_terminal(start, columns, "stats", PYTHONIOENCODING=encoding)
    assert ANSI.search(printed)
    lines = ANSI.sub("", printed).splitlines()
    assert max(width(line) for line in lines) <= columns
    assert printed.isascii() == (encoding == "ascii")
    assert ("█" in printed) == (encoding == "utf-8")
    for title in ("Activity", "Tools", "Test runs", "Waiting for whom", "Models", "Context"):
        assert any(line.startswith(title) for line in lines), title


def test_without_colours_the_figures_are_the_same(demo, start, run) -> None:
    coloured = on_a_terminal(start, 80, "stats")
    plain = on_a_terminal(start, 80, "stats", "--no-color")
    assert not ANSI.search(plain) and ANSI.sub("", coloured) == plain
    assert not ANSI.search(run("stats").stdout)


@pytest.mark.parametrize(
    "words", [("--tz", "Mars/Olympus"), ("nonsense",), ("--since", "whenever"), ("--section", "x")]
)
def test_what_cannot_be_meant_is_a_usage_error(words, demo, run) -> None:
    assert run("stats", *words).exit_code == 2


@BOTH
def test_a_period_is_read_on_the_clock_of_the_zone(demo, run) -> None:
    # The zone counts wherever it stands.
    for words in (
        ("--tz", "Asia/Tokyo", "--since", "2026-07-01"),
        ("--since", "2026-07-01", "--tz", "Asia/Tokyo"),
    ):
        wanted = json.loads(run("stats", "summary", *words, "--json").stdout)["wanted"]
        assert wanted["since"] == "2026-06-30T15:00:00.000Z"


def test_an_empty_answer_says_so(demo, run) -> None:
    none = run("stats", "--repo", "nobody")
    assert none.exit_code == 0 and none.stdout == "" and "has such data" in none.stderr
    assert run("stats", "--repo", "nobody", "--quiet").stderr == ""


@BOTH
def test_a_store_without_sessions_says_what_to_do(run, tmp_path, home) -> None:
    assert run("sync").exit_code == 0
    printed = run("stats")
    assert printed.exit_code == 0 and printed.stdout == ""
    assert "session-memory sync" in printed.stderr
    found = json.loads(run("stats", "--json").stdout)
    assert found["summary"]["sessions"] == 0 and found["tools"] == {"total": 0, "rows": []}


@BOTH
def test_hostile_names_are_shown_escaped(home, run) -> None:
    claude = ClaudeHome(home, cwd=f"/home/mira/{HOSTILE}")
    log = claude.session()
    log.prompt(HOSTILE)
    log.answer(call(f"tool{HOSTILE}"), model=f"claude{HOSTILE}")
    log.result("no", is_error=True)
    log.edit(f"/home/mira/{HOSTILE}.py")
    log.run("pytest", "1 passed in 0.1s")
    log.answer("Done.")
    claude.write()
    assert run("sync").exit_code == 0
    for words in ((), ("--json",)):
        printed = run("stats", *words)
        assert printed.exit_code == 0, printed.output
        assert all(c == "\n" or c.isprintable() for c in printed.stdout)
    assert "tool\\x1b[2J" in run("stats", "tools").stdout


@BOTH
def test_a_clock_gone_mad_costs_nothing(home, run) -> None:
    claude = ClaudeHome(home)
    log = claude.session()
    log.prompt("long ago", timestamp="0001-01-01T00:00:00.000Z")
    log.prompt("long after", timestamp="9999-12-31T23:59:59.999Z")
    claude.write()
    assert run("sync").exit_code == 0
    printed = run("stats", "--tz", "Asia/Tokyo")
    assert printed.exit_code == 0, printed.output
    assert max(map(len, printed.stdout.splitlines())) < 200


# ------------------------------------------------------------ the calendar


def test_a_calendar_has_a_column_for_each_week() -> None:
    amounts = {date(2026, 6, 29): 1, date(2026, 7, 5): 4, date(2026, 7, 15): 9}
    lines = [click.unstyle(line) for line in day_lines(amounts, 80, ASCII)]
    assert lines == [
        "    Jun",
        "Mon : . .",
        "Tue . . .",
        "Wed . . #",
        "Thu . .",
        "Fri . .",
        "Sat . .",
        "Sun + .",
    ]


def test_a_narrow_calendar_shows_the_last_weeks() -> None:
    amounts = {date(2025, 1, 1): 1, date(2026, 7, 15): 9}
    for limit in (20, 60, 80, 200):
        lines = [click.unstyle(line) for line in day_lines(amounts, limit, BLOCKS)]
        assert max(width(line) for line in lines) <= limit
        assert lines[3].rstrip().endswith("█")


def test_days_between_are_filled_up_to_a_year() -> None:
    assert every_day({date(2026, 7, 1): 2, date(2026, 7, 4): 1}) == [2, 0, 0, 1]
    assert len(every_day({date(1, 1, 1): 1, date(9999, 12, 31): 1})) == 367


# ------------------------------------------------------------ completion


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        (["stats"], "to", "tools"),
        (["stats", "--section"], "fi", "files"),
        (["stats", "--tz"], "Europe/Ber", "Europe/Berlin"),
        (["stats", "--flavor"], "cl", "claude"),
        (["stats", "--model"], "claude-o", "claude-opus"),
        (["stats", "--repo"], "tide", "tidewatch"),
    ],
)
def test_words_are_completed(words, incomplete, expected, demo) -> None:
    complete = ShellComplete(main, {}, "session-memory", "_SESSION_MEMORY_COMPLETE")
    found = [item.value for item in complete.get_completions(words, incomplete)]
    assert found and found[0].startswith(expected)
    assert all(value.startswith(incomplete) for value in found)


def test_completion_without_a_store_completes_nothing() -> None:
    complete = ShellComplete(main, {}, "session-memory", "_SESSION_MEMORY_COMPLETE")
    assert complete.get_completions(["stats", "--repo"], "") == []


# ------------------------------------------------------------ the page

PAGE = Path(__file__).parents[2] / "docs" / "stats.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_shows_what_the_command_prints(demo, run) -> None:
    words, _, shown = block("console").partition("\n")
    printed = run(*words.removeprefix("$ session-memory ").split())
    assert printed.stdout == shown


@BOTH
def test_the_python_on_the_page_runs(demo) -> None:
    exec(compile(block("python"), str(PAGE), "exec"), {})


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@BOTH
def test_every_key_of_the_json_is_on_the_page(demo, run) -> None:
    page = PAGE.read_text("utf-8").partition("## The JSON")[2]
    found = keys(json.loads(run("stats", "--json").stdout)) - {"rows", "total"}
    assert len(found) > 80
    assert {key for key in found if f"`{key}`" not in page} == set()
