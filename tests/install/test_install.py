"""Installing writes our entries and nothing else; uninstalling restores every byte."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from session_memory.install.agent import Request
from session_memory.install.agents import NAMES
from session_memory.install.hook_parts import hook_command
from session_memory.install.planning import Installer
from session_memory.install.record import InstalledAgent

CLAUDE = '{\n  // mine\n  "model": "opus", // yes\n  "hooks": {\n    "PostToolUse": []\n  }\n}\n'
CODEX = 'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"'


def files(home: Path) -> dict[str, bytes]:
    """Every file and directory below home but our own."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else b""
        for path in sorted(home.rglob("*"))
        if ".session-memory" not in path.parts
    }


@pytest.fixture
def settings(home: Path) -> dict[str, bytes]:
    """Settings of both agents with comments."""
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(CLAUDE)
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(CODEX)
    return files(home)


@pytest.mark.parametrize("name", NAMES)
def test_uninstall_leaves_what_was_there_before(home, settings, run, name) -> None:
    assert run("install", name, "--yes").exit_code == 0
    assert files(home) != settings
    assert run("uninstall", name, "--yes").exit_code == 0
    assert files(home) == settings


def test_a_second_installation_has_nothing_to_do(home, settings, answer) -> None:
    assert answer("install", *NAMES, "--yes")["written"] is True
    after = files(home)
    again = answer("install", *NAMES, "--yes")
    assert (again["written"], again["files"]) == (False, [])
    assert files(home) == after


def test_a_dry_run_and_a_no_write_nothing(home, settings, run) -> None:
    shown = run("install", "claude", "--dry-run")
    assert '+    "session-memory": {' in shown.stdout
    refused = run("install", "claude", input="n\n")
    assert refused.exit_code == 2
    assert files(home) == settings


def test_the_entries_are_those_that_the_agents_read(home, settings, run) -> None:
    run("install", "claude", "codex", "--yes")
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["session-memory"]
    assert os.access(server["command"], os.X_OK)
    assert server["args"] == ["mcp"]
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    (group,) = hooks["PostToolUse"]
    assert group["hooks"][0]["command"] == f"{server['command']} hook codex failure || true"
    assert (home / ".claude" / "settings.json").read_text().startswith('{\n  // mine\n  "model"')


def test_no_trust_is_written_in_anybodys_name(home, run, tmp_path, monkeypatch) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    for words in ((), ("--project",)):
        assert run("install", *NAMES, "--hooks", "failure,end,prompt,start", "--yes", *words)
    for folder in (home, project):
        for path in folder.rglob("*"):
            if path.is_file() and ".session-memory" not in path.parts:
                assert "trust" not in path.read_text().lower(), path


def test_whoever_installs_claude_is_told_that_grok_reads_it(home, run) -> None:
    run("install", "grok", "--yes")
    assert "not written twice" in run("install", "claude", "--yes").stderr


def test_the_change_of_a_long_line_is_shown(home, run) -> None:
    (home / ".claude.json").write_text(json.dumps({"notes": ["word " * 9] * 99}))
    shown = run("install", "claude", "--no-skill", "--hooks", "none", "--dry-run").stdout
    assert '"mcpServers"' in shown
    assert max(map(len, shown.splitlines())) < 300


def test_python_with_the_package_is_a_program_too(home) -> None:
    words = ("/opt/my python", "-m", "session_memory", "--store", "/x.db")
    installer = Installer({"HOME": str(home), "PATH": ""})
    installer.carry_out(installer.plan([InstalledAgent("codex", "", ("failure",), words)]))
    server = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]
    assert server["session-memory"] == {
        "command": "/opt/my python",
        "args": ["-m", "session_memory", "mcp", "--store", "/x.db"],
    }
    (group,) = json.loads((home / ".codex/hooks.json").read_text())["hooks"]["PostToolUse"]
    call = "'/opt/my python' -m session_memory hook codex failure --store /x.db || true"
    assert group["hooks"][0]["command"] == call
    installer.carry_out(installer.plan([], [("codex", "")]))
    assert files(home) == {}


def test_a_hook_whose_program_is_gone_fails_silently() -> None:
    """Gemini CLI 0.61.0 gave the model the message of the shell instead of a command's output."""
    request = Request(hooks=("failure",), words=("/nonexistent/session memory",))
    line = hook_command("gemini", "failure", request)
    done = subprocess.run(["sh", "-c", line], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
