"""The line that stands for a call: what it searches for, not only where."""

from typing import Any

import pytest

from session_memory.core.schema import SessionEvent
from session_memory.views.event_reader import title_of

pytestmark = pytest.mark.only("sqlite")


def asked(path: str | None, arguments: dict[str, Any], summary: str | None = None) -> str:
    event = SessionEvent(
        session_uid="gemini:one",
        seq=0,
        ts="2026-07-01T00:00:00.000Z",
        kind="tool_call",
        role="assistant",
        tool="grep",
        path=path,
        summary=path or "" if summary is None else summary,
    )
    return title_of(event, "call", arguments)


@pytest.mark.parametrize(
    ("path", "arguments", "title"),
    [
        ("src", {"pattern": "def tide", "path": "src"}, "def tide in src"),
        (".", {"query": "harbour", "path": "."}, "harbour"),
        ("src/a.py", {"file_path": "src/a.py"}, "src/a.py"),
        (None, {"count": 2}, "count=2"),
    ],
)
def test_a_search_is_named_by_what_it_searches_for(
    path: str | None, arguments: dict[str, Any], title: str
) -> None:
    assert asked(path, arguments) == title


def test_a_summary_of_the_agent_stays() -> None:
    assert asked("src", {"pattern": "x", "path": "src"}, "look for x") == "look for x"
