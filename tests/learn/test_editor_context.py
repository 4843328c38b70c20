"""Prompts of Codex in an editor, which puts open files and a selection in front of them."""

from pathlib import Path

import pytest

from session_memory.testing.codex import CodexHome

from .sessions import analyzed, digest

# A digest is the same on both databases.
pytestmark = pytest.mark.only("sqlite")

REQUEST = "sort the rows by name in all tables of the report, and keep the order of equal rows"


@pytest.mark.parametrize("tabs", [3, 300])
def test_a_prompt_begins_behind_the_context_of_an_editor(tmp_path: Path, tabs: int) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    context = "".join(f"- a{tab}.py: src/a{tab}.py\n" for tab in range(tabs))
    log.turn(
        f"# Context from my IDE setup:\n\n## Open tabs:\n{context}\n"
        f"## My request for Codex:\n{REQUEST}"
    )
    log.answer("Sorted.")
    log.complete()
    with analyzed(codex.write()) as store:
        (prompt,) = digest(store, log.uid).prompts
    assert prompt.text.startswith("sort the rows by name in all tables")
