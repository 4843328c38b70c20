"""docs/python-api.md has a recipe for every common question and lists every method."""

import re
from pathlib import Path

import pytest

from session_memory import AsyncMemory, Memory, SessionQuery, StoredSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python-api.md"
RECIPES = (
    "The most expensive sessions of this week",
    "Everything about one session",
    "Find the session that fixed an error",
    "Follow the agents while they work",
    "Use your own prices",
    "Keep the sessions of your own agent",
    "Lists of dicts for a notebook",
    "Cost of each repository in each month",
    "All failed test runs",
    "All edits of a file",
    "Sessions that were never analyzed",
    "Back up the store",
)


def public(kind: type) -> set[str]:
    """The names that a user may call or read."""
    names = {name for one in kind.__mro__[:-1] for name in vars(one)}
    return {name for name in names if not name.startswith("_")}


def test_every_recipe_has_code_that_runs_with_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = text.partition("## Recipes\n")[2].partition("\n## ")[0]
    found = re.split(r"^### (.+)$", part, flags=re.MULTILINE)[1:]
    assert tuple(found[::2]) == RECIPES
    assert all("```python" in recipe for recipe in found[1::2])


@pytest.mark.parametrize("kind", [Memory, SessionQuery, StoredSession])
def test_every_method_is_in_a_table(kind: type) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Every method")[2]
    first_cells = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    listed = set(re.findall(r"`(?:Memory\.)?(\w+)", " ".join(first_cells)))
    missing = public(kind) - listed - {"of", "open"}
    assert not missing, missing


def test_the_memory_for_asyncio_has_every_method_whose_answer_is_complete() -> None:
    # Read piece by piece, or without a database; these are asked through `run`.
    through_run = {"sessions", "session", "transcripts", "store", "config", "place"}
    missing = public(Memory) - public(AsyncMemory) - through_run
    assert missing == {"live_async"}
