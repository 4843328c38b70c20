"""The page about Codex says what its adapter reads."""

from pathlib import Path

from session_memory.adapters.codex import AGENT, translate

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "codex.md"


def test_the_page_names_every_kind_of_line_that_is_read() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = (translate._RESPONSE_ITEMS, translate._EVENTS, translate._ITEMS, translate._LINES)
    kinds = AGENT.bookkeeping.union(*tables)
    assert sorted(kind for kind in kinds if f"`{kind}`" not in text) == []
