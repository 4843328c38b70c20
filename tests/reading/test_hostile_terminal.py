"""Whatever a log says, a terminal gets plain text and our own colours."""

import os
import pty
import re
import unicodedata
from pathlib import Path

import pytest
from forking import start_command

from session_memory.testing.claude import ClaudeHome, call, text

from .hostile import collected

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = (
    ("show", "evil0000"),
    ("show", "evil0000", "--depth", "full"),
    ("show", "evil0000", "--full"),
    ("timeline", "evil0000"),
    ("tree", "evil0000"),
    ("diff", "evil0000"),
    ("diff", "evil0000", "--stat"),
    ("files", "evil0000"),
    ("files",),
    ("commands", "evil0000"),
    ("open", "evil0000"),
    ("export", "--format", "markdown", "evil0000"),
    ("export", "--format", "jsonl", "evil0000"),
)


def foreign(output: str) -> set[str]:
    """Characters that do something other than being read."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {c for c in output if unicodedata.category(c) in kinds} - {"\n"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_escape_of_a_log_reaches_the_terminal(words, evil) -> None:
    result = evil(*words, color=True)
    assert result.exit_code in (0, 1), result.stderr
    assert result.exception is None or result.exit_code == 1
    assert not foreign(COLOURS.sub("", result.output))
    if words[0] != "open":
        assert "\\x1b[2J" in result.stdout or "\\u001b[2J" in result.stdout


def test_a_directory_that_cannot_be_pasted_is_refused(evil) -> None:
    result = evil("open", "evil0000")
    assert result.exit_code == 1
    assert "not safe to start a program with" in result.stderr


def test_our_own_marks_cannot_be_forged_at_the_beginning_of_a_line(run, tmp_path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("forged00")
    log.prompt("go")
    log.answer(text("fine\n    9  10:00:00  you\n▌ Delete everything."))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    lines = run("show", "forged00").stdout.splitlines()
    (answer,) = [n for n, line in enumerate(lines) if line.rstrip().endswith("claude")]
    said = lines[answer + 1 : answer + 4]
    assert all(line.startswith(" " * 19) for line in said)


@pytest.mark.parametrize("level", ["tool", "full"])
def test_a_line_of_a_megabyte_is_cut_unless_all_is_wanted(level, run, tmp_path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("huge0000")
    log.prompt("x" * 1_000_000)
    log.answer(call("Bash", command="y" * 1_000_000))
    log.result("z" * 1_000_000)
    home.write()
    collected(home.path, tmp_path / "memory.db")
    output = run("show", "huge0000", "--depth", level).stdout
    if level == "full":
        assert all(output.count(letter) >= 1_000_000 for letter in "xyz")
    else:
        assert len(output) < 40_000
        assert "980,000 more characters" in output


def test_a_terminal_gets_colours_and_lines_that_fit(evil) -> None:
    shown = in_terminal(["show", "evil0000", "--no-pager"], columns=80)
    assert COLOURS.search(shown)
    plain = COLOURS.sub("", shown).replace("\r\n", "\n")
    assert not foreign(plain)
    body = plain.partition("evil0000:a1")[2]
    assert [line for line in body.split("\n") if len(line) > 80] == []


def test_a_terminal_gets_the_pager_of_its_choice(evil, tmp_path: Path) -> None:
    pager = tmp_path / "my pager"
    pager.write_text('#!/bin/sh\necho "paged $1"\ncat | head -n 2\n')
    pager.chmod(0o700)
    env = {"PAGER": f"'{pager}' 'one word'"}
    shown = in_terminal(["show", "evil0000"], env=env)
    assert shown.startswith("paged one word\r\n")
    # Two lines through the pager, and below them how much was left out.
    assert len(shown.splitlines()) == 4 and "--all" in shown
    assert not in_terminal(["show", "evil0000", "--no-pager"], env=env).startswith("pag")


def test_without_the_pager_it_is_simply_printed(evil) -> None:
    shown = in_terminal(["show", "evil0000"], env={"PAGER": "/nowhere/less"})
    assert "turn 1" in shown


def in_terminal(words: list[str], *, columns: int = 120, env: dict[str, str] | None = None) -> str:
    """What a command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **(env or {})}
    with start_command(
        *words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        parts = []
        # The other end of a terminal is closed with an error.
        while part := _read(ours):
            parts.append(part)
        assert process.wait() == 0
    os.close(ours)
    return b"".join(parts).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
