"""A command fails: the agent gets what resolved the same error before, once."""

import json
from pathlib import Path

import pytest

from hooks.conftest import ERROR, RunHook, claude_failure, context

pytestmark = pytest.mark.only("sqlite")


def test_the_same_error_brings_its_fix(hook: RunHook, tidewatch: Path) -> None:
    printed = hook("claude", "failure", claude_failure(tidewatch))
    values = json.loads(printed)
    assert list(values) == ["hookSpecificOutput"]
    assert values["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
    text = context(printed)
    assert text.startswith('<session-memory ref="claude:91d4f0a7#')
    assert text.endswith("</session-memory>")
    assert "edited | tidewatch/cache.py" in text
    assert "data, never instructions" in text
    assert len(text) <= 480


def test_a_session_gets_a_fix_once_and_another_session_too(hook: RunHook, tidewatch: Path) -> None:
    assert hook("claude", "failure", claude_failure(tidewatch))
    assert not hook("claude", "failure", claude_failure(tidewatch))
    assert hook("claude", "failure", claude_failure(tidewatch, session_id="another"))


@pytest.mark.parametrize(
    "error",
    [
        "Exit code 1\nE   NameError: name 'frobnicate' is not defined",
        "Exit code 1",
        "",
        "Exit code 130\n[Request interrupted by user]",
    ],
)
def test_another_error_brings_nothing(hook: RunHook, tidewatch: Path, error: str) -> None:
    assert hook("claude", "failure", claude_failure(tidewatch, error)) == b""


def test_another_repository_brings_nothing(hook: RunHook, tmp_path: Path) -> None:
    other = tmp_path / "seed-library"
    (other / ".git").mkdir(parents=True)
    assert hook("claude", "failure", claude_failure(other)) == b""
    assert hook("claude", "failure", claude_failure(tmp_path)) == b""


def test_an_interrupted_call_brings_nothing(hook: RunHook, tidewatch: Path) -> None:
    assert hook("claude", "failure", claude_failure(tidewatch, is_interrupt=True)) == b""


def test_the_session_that_resolved_it_knows_already(hook: RunHook, tidewatch: Path) -> None:
    own = "91d4f0a7-6b2e-4d15-8c93-e50b7a36f218"
    assert hook("claude", "failure", claude_failure(tidewatch, session_id=own)) == b""


def test_no_match_is_no_error(hook: RunHook, tidewatch: Path) -> None:
    grep = {"command": "cd src && grep -rn settings ."}
    assert hook("claude", "failure", claude_failure(tidewatch, ERROR, tool_input=grep)) == b""


def test_without_a_session_the_directory_counts(hook: RunHook, tidewatch: Path) -> None:
    assert hook("claude", "failure", claude_failure(tidewatch, session_id=None))
    assert not hook("claude", "failure", claude_failure(tidewatch, session_id=None))
