"""``service``: one file, shown before it is written, that says exactly what will run."""

import json
import os
import plistlib
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.cli.kit.service_files import launchd_agent, systemd_unit, unit_path
from session_memory.core.errors import ConfigError

pytestmark = pytest.mark.only("sqlite")

ODD = 'with space/100%/a"b\\c/$HOME/é'
UNIT = Path(".config/systemd/user/session-memory.service")


def test_it_is_shown_before_it_is_written_and_written_when_confirmed(run, home: Path) -> None:
    asked = run("service", "install", input="n\n")
    assert asked.exit_code == 2
    assert "ExecStart=" in asked.stdout and "nothing was changed" in asked.stderr
    assert not (home / UNIT).exists()
    done = run("service", "install", input="y\n")
    assert done.exit_code == 0, done.stderr
    assert "systemctl --user enable session-memory.service" in done.stdout
    written = (home / UNIT).read_text()
    assert written in done.stdout
    assert stat.S_IMODE((home / UNIT).stat().st_mode) == 0o600
    assert stat.S_IMODE((home / ".config").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--start"),
        ("status", "--dry-run"),
        ("install", "--stop"),
        ("uninstall", "--every", "hour"),
        ("uninstall", "--no-analyze"),
    ],
)
def test_an_option_of_another_action_is_refused(words, run, home: Path) -> None:
    result = run("service", *words)
    assert result.exit_code == 2 and " is for service " in result.stderr


def test_a_dry_run_writes_nothing(run, home: Path) -> None:
    shown = json.loads(run("service", "install", "--dry-run", "--json").stdout)
    assert (shown["written"], shown["path"]) == (False, str(home / UNIT))
    assert list(home.iterdir()) == []


def test_with_json_nothing_is_asked(run, home: Path) -> None:
    assert run("service", "install", "--json").exit_code == 2
    assert json.loads(run("service", "install", "--json", "--yes").stdout)["written"]
    assert (home / UNIT).exists()


def test_it_can_be_installed_again_and_removed(run, home: Path) -> None:
    for store in ("one.db", "two.db"):
        assert run("service", "install", "--yes", "--store", store).exit_code == 0
    assert str(Path("two.db").absolute()) in (home / UNIT).read_text()
    assert run("service", "uninstall", "--dry-run").stdout.startswith("Would remove")
    assert run("service", "uninstall", "--yes").exit_code == 0
    assert list((home / UNIT).parent.iterdir()) == []
    again = run("service", "uninstall", "--yes")
    assert again.exit_code == 0 and again.stdout.startswith("There is no")


@pytest.mark.parametrize("words", [("install", "--dry-run"), ("uninstall", "--yes", "--stop")])
def test_a_file_that_is_not_ours_is_left_alone(words, run, home: Path) -> None:
    (home / UNIT).parent.mkdir(parents=True)
    (home / UNIT).write_text("[Service]\nExecStart=/bin/true\n")
    result = run("service", *words)
    assert result.exit_code == 1
    assert "was not written by session-memory" in result.stderr
    assert (home / UNIT).read_text() == "[Service]\nExecStart=/bin/true\n"


@pytest.mark.parametrize("words", [("install", "--yes"), ("uninstall", "--yes")])
def test_a_link_is_not_followed(words, run, home: Path) -> None:
    run("service", "install", "--yes")
    target = home / "elsewhere"
    (home / UNIT).rename(target)
    (home / UNIT).symlink_to(target)
    before = target.read_text()
    assert run("service", *words, "--store", "other.db").exit_code == 1
    assert (target.read_text(), (home / UNIT).is_symlink()) == (before, True)


def test_the_settings_in_force_are_the_settings_of_the_unit(
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = home / "my config.toml"
    config.write_text("")
    monkeypatch.setenv("SESSION_MEMORY_STORE", "~/my store.db")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/logs of claude")
    monkeypatch.setenv("SESSION_MEMORY_SECRET", "not for you")
    shown = json.loads(run("service", "install", "--dry-run", "--json", "--config", config).stdout)
    assert f'--store "{home}/my store.db"' in shown["text"]
    assert f'--config "{config}"' in shown["text"]
    assert 'Environment="CLAUDE_CONFIG_DIR=/logs of claude"' in shown["text"]
    assert "not for you" not in shown["text"]


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:hush@db/memory", "postgres://me@db/memory?sslmode=require&password=hush"],
)
def test_a_password_never_stands_in_a_unit(address, run, home: Path) -> None:
    result = run("service", "install", "--yes", "--store", address)
    assert result.exit_code == 1
    assert "hush" not in result.output and ".pgpass" in result.stderr
    assert not (home / UNIT).exists()
    fine = run("service", "install", "--dry-run", "--store", "postgresql://me@db/memory")
    assert "--store postgresql://me@db/memory" in fine.stdout


def test_a_session_never_reaches_the_log_of_the_machine(run) -> None:
    assert " watch --quiet " in run("service", "install", "--dry-run").stdout


def test_systemd_itself_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd here to ask")
    odd = tmp_path / "with space" / "100%"
    odd.mkdir(parents=True)
    (odd / "session-memory").write_text("#!/bin/sh\n")
    (odd / "session-memory").chmod(0o755)
    unit = tmp_path / "session-memory.service"
    unit.write_text(systemd_unit([str(odd / "session-memory"), "watch", ODD], {"A": ODD}))
    checked = subprocess.run(
        [program, "verify", "--user", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert "session-memory.service" not in checked.stderr, checked.stderr


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_what_systemd_reads_is_what_was_meant(words: list[str]) -> None:
    """Read back by the rules of systemd.service(5): quotes, C escapes, doubled signs."""
    unit = systemd_unit(["/bin/watch", *words], {f"V{n}": word for n, word in enumerate(words)})
    # A line ends at a newline alone: systemd knows no other ends, as Python does.
    lines = unit.split("\n")
    (command,) = [line for line in lines if line.startswith("ExecStart=")]
    assert read_back(command.removeprefix("ExecStart="), "$$") == ["/bin/watch", *words]
    printed = [
        line.removeprefix("Environment=") for line in lines if line.startswith("Environment=")
    ]
    expected = [f"V{n}={word}" for n, word in enumerate(words)]
    assert [word for line in printed for word in read_back(line, None)] == expected


def read_back(line: str, doubled: str | None) -> list[str]:
    words, place = [], 0
    while place < len(line):
        if line[place] == " ":
            place += 1
        elif line[place] == '"':
            word, place = _until_quote(line, place + 1)
            words.append(word)
        else:
            end = line.find(" ", place)
            end = len(line) if end < 0 else end
            words.append(line[place:end])
            place = end
    return [_undoubled(word, doubled) for word in words]


def _until_quote(line: str, place: int) -> tuple[str, int]:
    word = ""
    while line[place] != '"':
        if line[place] == "\\" and line[place + 1] == "x":
            word += chr(int(line[place + 2 : place + 4], 16))
            place += 4
        elif line[place] == "\\":
            word += line[place + 1]
            place += 2
        else:
            word += line[place]
            place += 1
    return word, place + 1


def _undoubled(word: str, doubled: str | None) -> str:
    assert "%" not in word.replace("%%", "")
    word = word.replace("%%", "%")
    return word.replace(doubled, doubled[0]) if doubled else word


def test_the_agent_of_launchd_reads_back_as_it_was_meant(tmp_path: Path) -> None:
    text = launchd_agent(["/bin/watch", ODD, "<&>"], {"A": ODD}, tmp_path / "watch.log")
    agent = plistlib.loads(text.encode())
    assert agent["ProgramArguments"] == ["/bin/watch", ODD, "<&>"]
    assert agent["EnvironmentVariables"] == {"A": ODD}
    assert (agent["RunAtLoad"], agent["Umask"]) == (True, 0o077)
    with pytest.raises(ConfigError):
        launchd_agent(["/bin/watch", "a\x01b"], {}, tmp_path)


def test_on_a_mac_it_is_a_launch_agent(run, home: Path) -> None:
    done = run("service", "install", "--manager", "launchd", "--yes")
    path = unit_path("launchd", home, {})
    assert plistlib.loads(path.read_bytes())["ProgramArguments"][-4:] == [
        "watch", "--quiet", "--no-color", "--analyze",
    ]  # fmt: skip
    assert "launchctl bootstrap" in done.stdout
    assert run("service", "uninstall", "--manager", "launchd", "--yes").exit_code == 0
    assert not path.exists()


def test_status_works_without_anybody_to_run_it(
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    printed = json.loads(run("service", "status", "--json").stdout)
    assert (printed["installed"], printed["running"]) == (False, False)
    assert printed["why"] == "systemctl is not on this machine"
    assert printed["last_collected_at"] is None
    run("service", "install", "--yes")
    assert "installed, ~/.config" in run("service", "status").stdout


def test_starting_runs_the_managers_own_commands(
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A systemctl of our own writes down how it was called."""
    calls, program = home / "calls", home / "bin" / "systemctl"
    program.parent.mkdir()
    script = (
        f"#!{sys.executable}\nimport sys\nopen({str(calls)!r}, 'a').write(repr(sys.argv[1:]))\n"
    )
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    done = json.loads(run("service", "install", "--yes", "--start", "--json").stdout)
    assert done["next"] == []
    name = "session-memory.service"
    started = [["--user", "daemon-reload"], ["--user", "enable", name], ["--user", "restart", name]]
    assert calls.read_text() == "".join(map(repr, started))
    refused = run("service", "uninstall", "--yes")
    assert refused.exit_code == 2 and "--stop" in refused.stderr
    assert run("service", "uninstall", "--yes", "--stop").exit_code == 0
    assert calls.read_text().endswith(repr(["--user", "disable", "--now", name]))
    assert not (home / UNIT).exists()


def test_a_manager_that_refuses_is_an_error_with_a_hint(
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no bus >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    result = run("service", "install", "--yes", "--start")
    assert result.exit_code == 1
    assert "no bus" in result.stderr and "session-memory watch" in result.stderr


def test_the_line_of_the_unit_starts_a_watch(run) -> None:
    shown = json.loads(run("service", "install", "--dry-run", "--json").stdout)
    (line,) = [one for one in shown["text"].splitlines() if one.startswith("ExecStart=")]
    words = shlex.split(line.removeprefix("ExecStart="))
    done = subprocess.run(
        [*words, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("Usage: session-memory watch")
