"""The quickstart shows what the commands really print, in its order, on the bundled sessions."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from session_memory.demo import demo_home

PAGE = Path(__file__).parents[2] / "docs" / "quickstart.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
# What depends on the machine and the moment, and which agents and steps of the schema there are.
_AGENTS = r"[a-z_]+(?: \d+)?(?:, (?:[a-z_]+(?: \d+)?|…))*"
VARYING = re.compile(
    r"\d[\d,.]* (?:s|B|kB|MB|GB|packs?)\b|schema \d+ of \d+"
    rf"|(?<=not found ){_AGENTS}|(?<=adapters: ){_AGENTS}"
)


def shown() -> list[tuple[str, str]]:
    """Each command of the page with the output below it."""
    found = []
    for block in BLOCK.findall(PAGE.read_text("utf-8")):
        for part in block.split("$ session-memory ")[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def comparable(text: str) -> list[str]:
    """Words, so that a line may break elsewhere when a figure is longer."""
    return VARYING.sub("#", " ".join(text.split())).split()


@pytest.mark.only("sqlite")
def test_every_output_in_the_quickstart_is_what_is_printed(home, run, monkeypatch) -> None:
    shutil.copytree(demo_home() / ".claude", home / ".claude")
    for path in (home / ".claude").rglob("*"):
        path.touch()
    monkeypatch.chdir(home)
    commands = shown()
    assert len(commands) >= 8
    for command, output in commands:
        result = run(*shlex.split(command))
        printed = result.stdout + result.stderr
        wanted = output.replace("/home/you", str(home))
        assert comparable(printed) == comparable(wanted), f"{command}\n{printed}"
