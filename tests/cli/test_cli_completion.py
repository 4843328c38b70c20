"""Completion with the tab key: commands, ids and names that are in the store."""

import shutil
import subprocess

import click
import pytest
from click.shell_completion import ShellComplete

from session_memory.cli import main
from session_memory.cli.kit.command_files import command_files
from session_memory.cli.kit.group import load_command

pytestmark = pytest.mark.only("sqlite")
STARTS = {"repo": "tide", "flavor": "cl", "model": "claude-opus-5"}


def completed(words: list[str], incomplete: str) -> list[str]:
    complete = ShellComplete(main, {}, "session-memory", "_SESSION_MEMORY_COMPLETE")
    return [item.value for item in complete.get_completions(words, incomplete)]


def selecting() -> list[tuple[str, str]]:
    """Every command with an option that selects by repository, agent or model."""
    return [
        (file.typed, option.lstrip("-"))
        for file in command_files()
        if not file.is_group
        for parameter in load_command(file).params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.lstrip("-") in STARTS and "status bar" not in (parameter.help or "")
    ]


def test_ids_of_sessions_are_completed(demo) -> None:
    assert completed(["show"], "7ac3") == ["7ac31f58", "7ac31f58:a5d20c71"]
    assert "sessions" in completed([], "sess")


def test_every_option_that_selects_by_a_name_completes_it(demo) -> None:
    options = selecting()
    assert len(options) > 25
    for typed, name in options:
        found = completed([*typed.split(), f"--{name}"], STARTS[name])
        assert found and all(one.startswith(STARTS[name]) for one in found), (typed, name)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_accepts_the_script(run, shell: str) -> None:
    script = run("completion", shell).stdout
    assert "_SESSION_MEMORY_COMPLETE" in script
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert checked.returncode == 0, checked.stderr
