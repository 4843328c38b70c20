"""``session-memory handoff`` as a user types it."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from session_memory import Memory
from session_memory.cli import main
from session_memory.core.errors import CannotHandOver
from session_memory.handoff import HandoffOptions, hand_over
from session_memory.handoff.versions import InstalledVersion
from session_memory.testing.claude import ClaudeHome, call

pytestmark = pytest.mark.only("sqlite")

SECRET = "sk-ant-api03-" + "Ab3dEf6h" * 11 + "-AAAA"


def filled(claude: ClaudeHome, place: Path, *, turns: int = 3) -> str:
    log = claude.session("work")
    log.cwd = "/home/mira/code/demo"
    for number in range(turns):
        log.prompt(f"prompt {number}")
        log.answer(f"answer {number}", call("Bash", command=f"echo {number}; export K={SECRET}"))
        log.result(f"printed {number}")
        log.answer(f"ended {number}")
    with Memory(place) as memory:
        memory.sync(roots=[claude.write()])
    return "claude:work"


def ran(place: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--store", str(place), *words])


@pytest.fixture
def fake_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that only says its version."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho codex-cli 0.166.3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


def test_it_prints_the_command_that_continues(
    claude: ClaudeHome, tmp_path: Path, own_home: Path, fake_codex: Path
) -> None:
    uid = filled(claude, tmp_path / "memory.db")
    result = ran(tmp_path / "memory.db", "--json", "handoff", uid, "--to", "codex")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["line"] == f"cd /home/mira/code/demo && codex resume {printed['session']}"
    (path,) = printed["files"]
    text = Path(path).read_text()
    assert Path(path).is_relative_to(own_home)
    assert all(f"printed {number}" in text for number in range(3))
    assert SECRET not in text
    assert (printed["prompts"], printed["calls"], printed["folded_turns"]) == (3, 3, 0)


def test_older_turns_become_one_message(
    claude: ClaudeHome, tmp_path: Path, own_home: Path, fake_codex: Path
) -> None:
    uid = filled(claude, tmp_path / "memory.db", turns=5)
    with Memory(tmp_path / "memory.db") as memory:
        made = memory.session(uid).handoff("codex", last=2)
    text = made.files[0].content.decode()
    assert (made.folded_turns, made.prompts, made.calls) == (3, 3, 2)
    assert "Earlier in this session, 3 turns in short:" in text
    assert "- prompt 1" in text
    assert "printed 1" not in text
    assert "printed 3" in text


def test_a_version_that_was_not_tested_is_refused(
    claude: ClaudeHome, tmp_path: Path, own_home: Path, fake_codex: Path
) -> None:
    fake_codex.write_text("#!/bin/sh\necho codex-cli 9.1.0\n")
    uid = filled(claude, tmp_path / "memory.db")
    result = ran(tmp_path / "memory.db", "handoff", uid, "--to", "codex")
    assert result.exit_code != 0
    assert "codex 9.1.0 is newer than the newest tested version" in result.output
    assert not list(own_home.rglob("rollout-*"))
    assert (
        ran(tmp_path / "memory.db", "handoff", uid, "--to", "codex", "--any-version").exit_code == 0
    )
    assert list(own_home.rglob("rollout-*"))


def test_a_program_without_a_version_is_refused(fake_codex: Path) -> None:
    fake_codex.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(CannotHandOver, match="is not known"):
        InstalledVersion("codex").refuse_untested()


def test_as_a_text_for_any_agent(claude: ClaudeHome, tmp_path: Path, own_home: Path) -> None:
    uid = filled(claude, tmp_path / "memory.db")
    printed = ran(tmp_path / "memory.db", "handoff", uid, "--as", "text").stdout
    assert "## User\n\nprompt 2\n" in printed
    assert "printed 1" in printed
    assert "```\ncommand: echo 1; " in printed
    assert SECRET not in printed


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--to", "codex", "--as", "text"),
        ("--as", "text", "--open"),
        ("--as", "text", "--any-version"),
    ],
)
def test_either_an_agent_or_a_text(words: tuple[str, ...], tmp_path: Path, own_home: Path) -> None:
    assert ran(tmp_path / "memory.db", "handoff", "x", *words).exit_code == 2


def test_nothing_is_written_if_the_agent_cannot_be_started_in_the_directory(
    claude: ClaudeHome, tmp_path: Path, own_home: Path, fake_codex: Path
) -> None:
    uid = filled(claude, tmp_path / "memory.db")
    result = ran(tmp_path / "memory.db", "handoff", uid, "--to", "codex", "--open")
    assert result.exit_code == 1
    assert "the directory /home/mira/code/demo does not exist" in result.output
    assert not list(own_home.rglob("rollout-*"))


def test_an_agent_that_cannot_take_one_is_named(
    claude: ClaudeHome, tmp_path: Path, own_home: Path
) -> None:
    uid = filled(claude, tmp_path / "memory.db")
    result = ran(tmp_path / "memory.db", "handoff", uid, "--to", "mycode")
    assert "cannot be handed over to mycode" in result.output
    assert "claude, codex" in result.output


@pytest.mark.parametrize("cwd", ["", "../../etc", "/home/../etc", "/home/\x1b[31m"])
def test_no_path_leaves_the_directory_of_the_agent(
    claude: ClaudeHome, tmp_path: Path, cwd: str
) -> None:
    log = claude.session("odd")
    log.cwd = cwd
    log.prompt("x")
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[claude.write()])
        with pytest.raises(CannotHandOver, match="no directory"):
            hand_over(memory.store, "claude:odd", "pi", HandoffOptions(), 1, {"HOME": "/nowhere"})


def test_a_live_session_is_handed_over_to_its_last_message(
    tmp_path: Path, own_home: Path, fake_codex: Path
) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        live = memory.live
        session = live.create_session()
        live.append_message(session, role="user", content="count the files")
        function = {"name": "bash", "arguments": '{"command": "ls | wc -l"}'}
        calls = [{"id": "c1", "type": "function", "function": function}]
        live.append_message(session, role="assistant", content="I look.", tool_calls=calls)
        live.append_message(session, role="tool", content="seven files", tool_call_id="c1")
    words = ("--json", "handoff", session, "--to", "codex", "--cwd", str(tmp_path))
    printed = json.loads(ran(tmp_path / "memory.db", *words).stdout)
    text = Path(printed["files"][0]).read_text()
    assert printed["origin"] == f"live:{session}"
    assert "ls | wc -l" in text
    assert "seven files" in text


def test_a_task_that_the_agent_began_with_itself_is_handed_over(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    """After a plan was accepted, Claude Code begins a new session with it."""
    log = claude.session("planned")
    plan = "Implement the following plan:\n\n# Plan: count the tides\n\nOne step."
    log.prompt(plan, planContent="# Plan: count the tides\n\nOne step.")
    log.answer("I count.", call("Bash", command="tide"))
    log.result("7")
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[claude.write()])
        assert "## User\n\nImplement the following plan" in memory.session("planned").handoff_text()
        assert [one.kind for one in memory.session("planned").events][0] == "lifecycle"


def test_from_the_list_to_the_other_agent_in_two_commands(
    claude: ClaudeHome, tmp_path: Path, own_home: Path, fake_codex: Path
) -> None:
    place = tmp_path / "memory.db"
    filled(claude, place)
    spent = json.loads(ran(place, "--json", "cost").stdout)["totals"]
    (listed,) = json.loads(ran(place, "--json", "sessions").stdout)["sessions"]
    made = ran(place, "--json", "handoff", listed["session_uid"], "--to", "codex")
    new = json.loads(made.stdout)["session_uid"]
    with Memory(place) as memory:
        memory.sync(roots=[own_home])
        record = memory.session(new).record
    assert (record.relation, record.parent_uid) == ("handoff", listed["session_uid"])
    assert json.loads(ran(place, "--json", "cost").stdout)["totals"] == spent
