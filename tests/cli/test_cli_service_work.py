"""``service``: what it does beside collecting, and timers where no daemon is wanted."""

import json
import plistlib
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from session_memory.cli.kit.service_schedule import SCHEDULES, cron_line
from session_memory.core.errors import ConfigError

pytestmark = pytest.mark.only("sqlite")

ODD = 'with space/100%/a"b\\c/$HOME/é'


def shown_files(run, *words: str) -> dict[str, str]:
    """The name and text of each file that would be installed."""
    done = json.loads(run("service", "install", "--dry-run", "--json", *words).stdout)
    return {Path(file["path"]).name: file["text"] for file in done["files"]}


def command_of(unit: str) -> list[str]:
    (line,) = [one for one in unit.splitlines() if one.startswith("ExecStart=")]
    return shlex.split(line.removeprefix("ExecStart="))[1:]


def test_the_service_analyzes_unless_told_not_to(run, home: Path) -> None:
    # SWITCHING 0.66
    (unit,) = shown_files(run).values()
    assert command_of(unit) == ["watch", "--quiet", "--no-color", "--analyze"]
    (unit,) = shown_files(run, "--no-analyze").values()
    assert command_of(unit) == ["watch", "--quiet", "--no-color"]
    # SWITCHING 0.102
    (unit,) = shown_files(run, "--retro", "~/my notes").values()
    assert command_of(unit)[-2:] == ["--retro", f"{home}/my notes"]
    (unit,) = shown_files(run, "--web").values()
    assert command_of(unit) == ["watch", "--quiet", "--no-color", "--analyze", "--web"]
    (agent,) = shown_files(run, "--web", "--manager", "launchd").values()
    assert plistlib.loads(agent.encode())["ProgramArguments"][-1] == "--web"
    for timed in (("--every", "hour"), ("--manager", "cron")):
        refused = run("service", "install", "--dry-run", "--web", *timed)
        assert refused.exit_code == 2 and "always runs" in refused.stderr
    refused = run("service", "install", "--dry-run", "--no-analyze", "--retro", "x")
    assert refused.exit_code == 2 and "leave out --no-analyze" in refused.stderr


@pytest.mark.parametrize("every", SCHEDULES)
def test_a_timer_runs_a_sync_where_no_daemon_is_wanted(every, run, home: Path) -> None:
    # SWITCHING 0.64
    files = shown_files(run, "--every", every)
    assert list(files) == ["session-memory-sync.service", "session-memory-sync.timer"]
    unit, timer = files.values()
    assert command_of(unit) == ["sync", "--quiet", "--no-color", "--analyze"]
    assert "Type=oneshot\n" in unit and "Restart=" not in unit and "[Install]" not in unit
    assert "WantedBy=timers.target" in timer and "Persistent=true" in timer
    if program := shutil.which("systemd-analyze"):
        (calendar,) = [one for one in timer.splitlines() if one.startswith("OnCalendar=")]
        words = [program, "calendar", calendar.removeprefix("OnCalendar=")]
        subprocess.run(words, check=True, capture_output=True, timeout=60)


def test_a_timer_is_installed_and_removed_as_one(
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SWITCHING 0.64
    directory = home / ".config" / "systemd" / "user"
    monkeypatch.setenv("PATH", str(home))
    done = run("service", "install", "--every", "day", "--yes")
    assert "systemctl --user restart session-memory-sync.timer" in done.stdout
    assert len(list(directory.iterdir())) == 2
    status = json.loads(run("service", "status", "--json").stdout)
    assert (status["installed"], status["timer"], status["analyzes"]) == (True, True, True)
    # A timer and a daemon would do the same work twice.
    refused = run("service", "install", "--yes")
    assert refused.exit_code == 1 and "service uninstall" in refused.stderr
    # A kill may have left one of the files.
    (directory / "session-memory-sync.service").unlink()
    assert run("service", "uninstall", "--yes").exit_code == 0
    assert list(directory.iterdir()) == []
    assert run("service", "install", "--yes").exit_code == 0


def test_on_a_mac_a_timer_is_an_agent_with_set_times(run, home: Path) -> None:
    # SWITCHING 0.64
    (text,) = shown_files(run, "--every", "week", "--manager", "launchd").values()
    agent = plistlib.loads(text.encode())
    assert agent["Label"] == "session-memory.sync"
    assert agent["StartCalendarInterval"] == [{"Weekday": 1, "Hour": 12, "Minute": 0}]
    assert agent["ProgramArguments"][1:] == ["sync", "--quiet", "--no-color", "--analyze"]
    assert "KeepAlive" not in agent and agent["RunAtLoad"]


def test_the_line_for_a_crontab_runs_what_was_meant(
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SWITCHING 0.64
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", ODD)
    done = run("service", "install", "--every", "day", "--manager", "cron", "--store", "/x/100%.db")
    assert done.exit_code == 0 and "crontab -e" in done.stderr
    assert done.stdout.startswith("0 12 * * * ")
    command = done.stdout.removeprefix("0 12 * * * ").rstrip("\n")
    # As cron reads it: a backslash before a percent sign is removed, then a shell gets the rest.
    assert "%" not in command.replace("\\%", "")
    words = shlex.split(command.replace("\\%", "%"))
    assert words[0] == f"CLAUDE_CONFIG_DIR={ODD}"
    assert words[2:] == ["sync", "--quiet", "--no-color", "--analyze", "--store", "/x/100%.db"]
    assert list(home.iterdir()) == []
    assert run("service", "uninstall", "--manager", "cron").exit_code == 2
    with pytest.raises(ConfigError):
        cron_line(SCHEDULES["hour"], ["a\nb"], {})


def test_status_says_what_waits_and_that_an_old_service_does_not_analyze(
    run, home: Path, demo: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SWITCHING 0.66
    monkeypatch.setenv("PATH", str(home))
    run("service", "install", "--no-analyze", "--yes")
    status = run("service", "status")
    assert "waiting for analysis: 8 sessions" in status.stdout
    assert "It does not analyze" in status.stderr
    run("service", "install", "--yes")
    run("analyze", "--quiet")
    status = run("service", "status")
    assert "waiting for analysis: 0 sessions" in status.stdout and status.stderr == ""
