"""Files that cannot be edited are left alone, with a hint; variables of agents are honoured."""

import errno
import json
import os
import tomllib
from pathlib import Path

import pytest

from session_memory.install.agents import NAMES


def tree(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".session-memory" not in path.parts
    }


@pytest.mark.parametrize(
    ("agent", "name", "content", "reason"),
    [
        ("claude", ".claude.json", b"{", "not valid JSON: line 1"),
        ("claude", ".claude.json", b"[1]", "has no settings"),
        ("claude", ".claude.json", b'{"mcpServers": []}', "mcpServers is no object"),
        ("claude", ".claude/settings.json", b'{"hooks": null}', "hooks is no object"),
        ("claude", ".claude/settings.json", b'{"hooks": {"SessionEnd": {}}}', "is no object or"),
        ("claude", ".claude.json", "{}".encode("utf-16"), "not UTF-8"),
        ("gemini", ".gemini/settings.json", b'{"a": 1,, }', "not valid JSON"),
        ("codex", ".codex/config.toml", b"a = ", "not valid TOML"),
        ("codex", ".codex/config.toml", b"mcp_servers = {}", "cannot be edited"),
        ("codex", ".codex/config.toml", b"mcp_servers = 1", "cannot be edited"),
        ("codex", ".codex/config.toml", b"[[mcp_servers]]\na = 1", "cannot be edited"),
        ("pi", ".pi/agent/extensions/session-memory.ts", b"mine", "was not written by"),
        ("codex", ".agents/skills/session-memory/SKILL.md", b"mine", "was not written by"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone(
    home: Path, run, agent: str, name: str, content: bytes, reason: str
) -> None:
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    refused = run("install", agent, "--yes")
    assert refused.exit_code == 1, refused.output
    assert reason in refused.stderr
    assert "hint:" in refused.stderr
    assert tree(home) == {name: content}
    # A file of somebody else is no reason not to uninstall.
    assert run("uninstall", agent, "--yes").exit_code in (0, 1)
    assert tree(home) == {name: content}


def test_links_to_nowhere_and_directories_are_refused(home: Path, run) -> None:
    (home / ".claude.json").symlink_to(home / "gone")
    assert "which does not exist" in run("install", "claude", "--yes").stderr
    (home / ".claude.json").unlink()
    (home / ".claude.json").mkdir()
    assert "not a settings file" in run("install", "claude", "--yes").stderr
    (home / ".codex").write_text("a file")
    assert "not a directory" in run("install", "codex", "--yes").stderr


@pytest.mark.parametrize(
    ("agent", "variable", "file"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("grok", "GROK_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("copilot", "COPILOT_HOME", "mcp-config.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("pi", "PI_CODING_AGENT_DIR", "extensions/session-memory.ts"),
    ],
)
def test_the_variables_of_agents_lead_to_their_files(
    home: Path, tmp_path: Path, run, monkeypatch, agent: str, variable: str, file: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert run("install", agent, "--yes").exit_code == 0
    assert "session-memory" in (tmp_path / "elsewhere" / file).read_text()
    assert run("uninstall", agent, "--yes").exit_code == 0
    assert not (tmp_path / "elsewhere").exists()
    assert tree(home) == {}


def test_another_store_is_written_and_a_password_is_not(home: Path, run, monkeypatch) -> None:
    assert run("install", "codex", "--yes", "--store", "my.db").exit_code == 0
    server = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]
    assert server["session-memory"]["args"] == ["mcp", "--store", str(home / "my.db")]
    assert f"hook codex failure --store {home / 'my.db'}" in (
        (home / ".codex/hooks.json").read_text()
    )
    before = tree(home)
    monkeypatch.setenv("SESSION_MEMORY_STORE", "postgresql://me:secret@db/x")
    refused = run("install", "codex", "--yes")
    assert (refused.exit_code, tree(home)) == (1, before)
    assert "secret" not in refused.output


def test_grok_does_not_get_a_server_twice(home: Path, run, answer) -> None:
    config = home / ".grok" / "config.toml"
    run("install", "grok", "--yes")
    assert "mcp_servers" in config.read_text()
    # Grok reads the servers of Claude Code, so its own goes when that comes, and comes back.
    run("install", "claude", "--yes")
    assert not config.exists()
    status = {one["agent"]: one for one in answer("install", "--status")["agents"]}
    assert status["grok"]["server"] == str(home / ".claude.json")
    assert (status["grok"]["installed"], status["grok"]["outdated"]) == (True, [])
    advice = answer("install", "grok", "--yes")["agents"][0]["advice"]
    assert any("not written twice" in sentence for sentence in advice)
    run("uninstall", "claude", "--yes")
    assert "mcp_servers" in config.read_text()
    run("uninstall", "grok", "--yes")
    assert tree(home) == {}


def test_grok_gets_its_server_where_it_does_not_read_others(home: Path, run, monkeypatch) -> None:
    server = {"mcpServers": {"session-memory": {"command": "session-memory"}}}
    (home / ".claude.json").write_text(json.dumps(server))
    run("install", "grok", "--yes")
    config = home / ".grok" / "config.toml"
    assert not config.exists()
    config.write_text("[compat.claude]\nmcps = false\n")
    run("install", "grok", "--yes")
    assert "[mcp_servers.session-memory]" in config.read_text()
    run("uninstall", "grok", "--yes")
    monkeypatch.setenv("GROK_CLAUDE_MCPS_ENABLED", "false")
    config.unlink()
    run("install", "grok", "--yes")
    assert config.exists()


def test_an_entry_made_by_hand_comes_back(home: Path, run) -> None:
    text = '{"mcpServers":{"session-memory":{"command":"session-memory","args":["mcp"]}}}'
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text(text)
    run("install", "gemini", "--yes")
    assert "hook gemini failure" in (home / ".gemini/settings.json").read_text()
    run("uninstall", "gemini", "--yes")
    assert (home / ".gemini/settings.json").read_text() == text


def test_without_the_record_our_entries_go_by_their_names(home: Path, run) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("a = 1\n")
    (home / ".codex/hooks.json").write_text('{"hooks": {"PostToolUse": []}}')
    run("install", "codex", "--yes")
    for path in (home / ".session-memory" / "install").rglob("*"):
        if path.is_file():
            path.unlink()
    run("uninstall", "codex", "--yes")
    assert tree(home) == {
        ".codex/config.toml": b"a = 1\n",
        ".codex/hooks.json": b'{"hooks": {"PostToolUse": [], "SessionEnd": []}}',
    }


def test_a_damaged_record_is_refused_with_a_hint(home: Path, run) -> None:
    run("install", "codex", "--yes")
    record = home / ".session-memory" / "install" / "installed.json"
    record.write_text("{")
    refused = run("uninstall", "codex", "--yes")
    assert refused.exit_code == 1
    assert "damaged" in refused.stderr
    record.unlink()
    assert run("uninstall", "codex", "--yes").exit_code == 0


def test_the_home_directory_is_no_project(home: Path, run) -> None:
    refused = run("install", "claude", "--project", "--yes")
    assert refused.exit_code == 2
    assert "not a project" in refused.stderr
    assert tree(home) == {}


def test_what_was_chosen_stays_chosen(home: Path, run, answer) -> None:
    run("install", "claude", "--hooks", "failure,start", "--no-skill", "--through-server", "--yes")
    assert answer("install", "claude", "--yes")["files"] == []
    settings = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert set(settings) == {"PostToolUseFailure", "SessionStart"}
    (hook,) = settings["PostToolUseFailure"][0]["hooks"]
    assert (hook["type"], hook["server"], hook["tool"]) == ("mcp_tool", "session-memory", "hook")
    assert hook["input"]["command"] == "${tool_input.command}"
    (status,) = answer("install", "claude", "--status")["agents"]
    assert (status["hooks"], status["outdated"]) == (["failure", "start"], [])
    run("install", "claude", "--hooks", "none", "--yes")
    assert not (home / ".claude/settings.json").exists()
    run("uninstall", "claude", "--yes")
    assert tree(home) == {}


def test_status_tells_what_is_out_of_date(home: Path, run, answer) -> None:
    assert run("install", *NAMES, "--yes").exit_code == 0
    found = answer("install", "--status")["agents"]
    assert [one["agent"] for one in found] == list(NAMES)
    for one in found:
        assert one["installed"], one
        assert one["outdated"] == [], one
        assert "failure" in one["hooks"], one
        assert one["program_exists"] is True, one
        assert os.path.isabs(one["program"])  # noqa: PTH117
    for path in home.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".toml", ".js", ".ts"):
            path.write_text(path.read_text().replace("/bin/session-memory", "/old/session-memory"))
    for one in answer("install", "--status")["agents"]:
        assert one["outdated"], one
        assert one["program_exists"] is False, one
    shown = run("install")
    assert "does not exist any more" in shown.stdout
    assert "out of date" in shown.stdout
    assert run("install", *NAMES, "--yes").exit_code == 0
    assert not any(one["outdated"] for one in answer("install", "--status")["agents"])


def test_status_goes_on_if_one_file_is_broken(home: Path, answer) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("a =")
    found = {one["agent"]: one for one in answer("install", "--status")["agents"]}
    assert "not valid TOML" in found["codex"]["problem"]
    assert found["claude"]["problem"] is None


def test_a_question_without_a_terminal_or_with_json_needs_yes(home: Path, run) -> None:
    assert run("install", "claude", input="").exit_code == 2
    refused = run("install", "claude", "--json")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert tree(home) == {}


def test_secrets_around_a_change_are_not_shown(home: Path, run) -> None:
    token = "ghp_" + "x7Rk2mQv9LpTz4WnB8cYd3FhJs6GaE1uN5oX"
    (home / ".claude.json").write_text(json.dumps({"env": {"GITHUB_TOKEN": token}}, indent=2))
    for words in ((), ("--json",)):
        shown = run("install", "claude", "--dry-run", *words)
        assert "session-memory" in shown.stdout
        assert token not in shown.output


def test_unknown_agents_and_hooks_are_refused(run) -> None:
    assert "known are claude" in run("install", "emacs").stderr
    assert "known are failure" in run("install", "claude", "--hooks", "sometimes").stderr
    assert run("uninstall").exit_code == 2


def test_doctor_tells_which_agents_lost_the_memory(home: Path, run, answer) -> None:
    def checks() -> list[tuple[str, str]]:
        found = json.loads(run("doctor", "--json").stdout)["checks"]
        return [(one["status"], one["text"]) for one in found if one["name"] == "agents"]

    assert checks() == []
    run("install", "codex", "gemini", "--yes")
    assert checks() == [("ok", "connected: codex, gemini")]
    settings = home / ".gemini" / "settings.json"
    settings.write_text(settings.read_text().replace("/bin/session-memory", "/old/session-memory"))
    ((status, text),) = checks()
    assert (status, "does not exist any more" in text) == ("warn", True)
    settings.write_text("{}")
    ((_, text),) = checks()
    assert text == "gemini: its settings no longer contain the entries for session-memory"


def test_a_broken_file_of_one_agent_does_not_stop_another(home: Path, run) -> None:
    run("install", "codex", "grok", "--yes")
    for name in (".codex", ".grok"):
        (home / name / "config.toml").write_text("a =")
    assert run("install", "gemini", "--yes").exit_code == 0
    assert run("uninstall", "gemini", "--yes").exit_code == 0
    assert not (home / ".gemini").exists()
    # The skill is shared, and the others still need it.
    assert (home / ".agents/skills/session-memory/SKILL.md").exists()


def test_a_directory_that_is_read_only_is_named(home: Path, run, monkeypatch) -> None:
    def refuse(path: Path, **_options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    with monkeypatch.context() as patched:
        patched.setattr("session_memory.install.target_file.whole_file", refuse)
        refused = run("install", "codex", "--yes")
    assert refused.exit_code == 1
    assert "config.toml cannot be written: Read-only file system" in refused.stderr
    assert run("uninstall", "codex", "--yes").exit_code == 0
    assert tree(home) == {}
