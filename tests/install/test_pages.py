"""The pages of docs/agents show what the command writes."""

import re
from pathlib import Path

import pytest

from session_memory.install import pages
from session_memory.install.agents import NAMES

DOCS = Path(__file__).parents[2] / "docs"
SNIPPET = re.compile(r"^`([^`\n]+)`:\n\n```(?:json|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_agent_has_a_page_that_is_up_to_date() -> None:
    made = pages.agent_pages()
    found = {f"agents/{page.name}": page.read_text("utf-8") for page in DOCS.glob("agents/*.md")}
    found.pop("agents/README.md", None)
    assert found == made, "run: make docs"


@pytest.mark.parametrize("name", NAMES)
def test_the_command_writes_what_the_page_shows(home: Path, run, monkeypatch, name: str) -> None:
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    for words in ((), ("--project",)):
        assert run("install", name, "--yes", *words).exit_code == 0
    page = (DOCS / "agents" / f"{name}.md").read_text("utf-8")
    shown = SNIPPET.findall(page)
    assert shown or name == "pi"
    for path, text in shown:
        file = home / path[2:] if path.startswith("~/") else project / path
        written = re.sub(
            r'"[^"\s]+/session-memory(?=["\s])', f'"{pages.WORDS[0]}', file.read_text()
        )
        assert written == text
    for path in re.findall(r"^`([^`\n]+)`:", page, re.MULTILINE):
        assert (home / path[2:] if path.startswith("~/") else project / path).is_file()
