"""``session-memory`` alone: the store in ten lines, and commands to go on with."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from session_memory.cli.kit import calling
from session_memory.config import Config
from session_memory.demo import demo_home
from session_memory.store import open_store
from session_memory.views.overview import overview


def commands_in(text: str) -> list[list[str]]:
    """The commands below "Next:", as words."""
    lines = text.partition("Next:\n")[2].splitlines()
    return [shlex.split(line.partition("#")[0])[1:] for line in lines]


def test_without_a_command_the_store_is_summed_up(demo: Any, run: Any) -> None:
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) <= 13
    whole = run("sessions", "--limit", "0", "--json").stdout
    assert f"{len(json.loads(whole)['sessions'])} sessions" in result.stdout
    assert [line.split("  ")[0] for line in lines[:6]] == [
        "Store",
        "Sessions",
        "Agents",
        "Cost",
        "Last new data",
        "Not analyzed",
    ]
    assert run("status").stdout == result.stdout


def test_every_command_it_names_works_as_typed(demo: Any, run: Any) -> None:
    named = commands_in(run().stdout)
    assert named[-1] == ["--help"]
    for words in named:
        typed = [*words, "--help"] if words == ["web"] else words  # a server would not end
        assert run(*typed).exit_code in (0, 3), words


def test_the_json_has_the_figures(demo: Any, run: Any) -> None:
    found = json.loads(run("--json").stdout)
    listed = json.loads(run("sessions", "--limit", "0", "--json").stdout)["sessions"]
    assert found["exists"] is True
    assert found["sessions"] == len(listed) == sum(found["agents"].values())
    assert found["subagents"] == sum(one["relation"] == "subagent" for one in listed)
    assert found["never_analyzed"] == found["to_analyze"] == len(listed)
    assert found["collected_at"] == max(one["ingested_at"] for one in listed)
    assert found["cost"].keys() == {"today", "month"}
    assert [step["command"] for step in found["next"]] == ["sync", "analyze", "web"]
    run("analyze")
    after = json.loads(run("--json").stdout)
    assert after["never_analyzed"] == after["to_analyze"] == 0
    # Which of them depends on how long ago the demo's last session was.
    assert after["next"][1]["command"] in ("retro", "patterns")
    assert "Not analyzed" not in run().stdout


@pytest.mark.only("sqlite")
def test_a_retro_is_offered_when_there_were_sessions_in_the_last_days(demo: Path) -> None:
    with open_store(demo) as store:
        ended = max(one.ended_at or "" for one in store.sessions.every())
        moment = datetime.fromisoformat(ended)
        found = overview(store, Config(), moment)
        assert found.sessions_today > 0
        assert found.cost_month.microdollars >= found.cost_today.microdollars > 0
        assert found.is_in_use
        assert not overview(store, Config(), moment + timedelta(days=8)).is_in_use


@pytest.mark.only("sqlite")
def test_without_a_store_it_says_how_to_begin_and_creates_nothing(home: Path, run: Any) -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout.startswith("No sessions yet in ~/.session-memory/memory.db.")
    assert commands_in(result.stdout) == [["demo"], ["sync"], ["--help"]]
    assert list(home.iterdir()) == []
    assert json.loads(run("--json").stdout)["exists"] is False


@pytest.mark.only("sqlite")
def test_with_logs_and_no_store_it_begins_with_a_sync(home: Path, run: Any) -> None:
    shutil.copytree(demo_home(), home, dirs_exist_ok=True)
    result = run("--quiet", "--store", str(home / "new.db"))
    assert result.stdout == "No sessions yet in ~/new.db.\n"
    result = run("--store", str(home / "new.db"))
    assert commands_in(result.stdout)[0] == ["sync", "--store", str(home / "new.db")]
    assert not (home / "new.db").exists()


def test_an_empty_store_is_like_none(home: Path, tmp_path: Path, run: Any, stores: Any) -> None:
    place = stores.place("empty")
    with open_store(place):
        pass
    found = json.loads(run("--json", "--store", str(place)).stdout)
    assert (found["exists"], found["sessions"]) == (True, 0)
    assert run("--store", str(place)).stdout.startswith("No sessions yet in ")


@pytest.mark.only("sqlite")
def test_logs_that_an_agent_deletes_soon_are_named(home: Path, run: Any) -> None:
    shutil.copytree(demo_home(), home, dirs_exist_ok=True)
    run("sync")
    log = next((home / ".claude" / "projects").rglob("*.jsonl"))
    with log.open("a") as file:
        file.write("{}\n")
    old = log.stat().st_mtime - 86_400 * 28
    os.utime(log, (old, old))
    result = run()
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("Deleted soon")]
    assert "1 of them" in line
    found = json.loads(run("--json").stdout)
    assert found["expiring"][0]["at_risk"] == 1
    assert found["next"][0]["why"] == "keep these logs before the agent deletes them"


# ---------------------------------------------------------------- how the program is called


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that runs, and is not on the PATH."""
    place = tmp_path / "my bin" / "session-memory"
    place.parent.mkdir()
    place.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(place), "sync"])
    monkeypatch.setenv("PATH", "/nowhere")
    return place


@pytest.mark.only("sqlite")
def test_a_program_off_the_path_is_called_by_its_full_path(script: Path) -> None:
    assert calling.how_to_call() == f"'{script}'"
    assert calling.callable_text("Next: session-memory sync") == f"Next: '{script}' sync"


@pytest.mark.only("sqlite")
def test_a_program_on_the_path_is_called_by_its_name(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "bin" / "session-memory"
    link.parent.mkdir()
    link.symlink_to(script)
    monkeypatch.setenv("PATH", str(link.parent))
    assert calling.how_to_call() == "session-memory"


@pytest.mark.only("sqlite")
def test_another_program_of_that_name_on_the_path_is_not_meant(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "bin" / "session-memory"
    other.parent.mkdir()
    other.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert calling.how_to_call() == f"'{script}'"


@pytest.mark.only("sqlite")
def test_only_calls_of_the_program_are_rewritten(script: Path) -> None:
    for text in (
        "session-memory is a program",
        "pip install 'session-memory[lake]'",
        "~/.session-memory and more",
    ):
        expected = text.replace("session-memory is", f"'{script}' is")
        assert calling.callable_text(text) == expected


@pytest.mark.only("sqlite")
def test_what_a_sync_names_next_works_as_typed(home: Path) -> None:
    """As after ``make run``: the program is started by its path."""
    program = Path(sys.executable).with_name("session-memory")
    shutil.copytree(demo_home(), home, dirs_exist_ok=True)
    env = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run([program, "sync"], capture_output=True, text=True, env=env, timeout=60)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Next: ")]
    assert line == done.stdout.splitlines()[-1]
    command = line.removeprefix("Next: ")
    again = subprocess.run(
        shlex.split(command), capture_output=True, text=True, env=env, timeout=60
    )
    assert again.returncode == 0, again.stderr
