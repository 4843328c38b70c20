"""docs/reading.md shows what the commands really print, on the bundled sessions."""

import re
import shlex
import shutil
from pathlib import Path

from session_memory.demo import demo_home

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """Each command of the page with the output below it."""
    parts = [part for block in BLOCK.findall(PAGE.read_text("utf-8")) for part in _commands(block)]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def _commands(block: str) -> list[str]:
    return block.split("$ session-memory ")[1:]


def test_every_output_on_the_page_is_what_is_printed(run, tmp_path: Path, monkeypatch) -> None:
    home = tmp_path / "home"
    shutil.copytree(demo_home() / ".claude", home / ".claude")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    assert run("sync").exit_code == 3
    commands = shown()
    assert len(commands) >= 10
    for command, output in commands:
        result = run(*shlex.split(command))
        printed = re.sub(r"[\d.]+ kB of html", "# kB of html", result.stdout + result.stderr)
        wanted = re.sub(r"[\d.]+ kB of html", "# kB of html", output)
        assert printed.splitlines() == wanted.splitlines(), command
