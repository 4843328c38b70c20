"""Events that are off by default: recall for a prompt, a line at the start, after a compaction."""

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import RunHook, context, run_hook
from session_memory.core.injected import is_injected
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call

pytestmark = pytest.mark.only("sqlite")

SESSION = "0d5a3c1e-7777-4a4a-8b8b-000000000001"
KNOWN = "The tide table is an hour off after the clocks change in October, fix the local time"


def prompt(cwd: Path, text: str, **more: Any) -> dict[str, Any]:
    given = {"session_id": SESSION, "cwd": str(cwd), "hook_event_name": "UserPromptSubmit"}
    return {**given, "prompt": text, **more}


def start(cwd: Path, source: str = "startup", **more: Any) -> dict[str, Any]:
    given = {"session_id": SESSION, "cwd": str(cwd), "hook_event_name": "SessionStart"}
    return {**given, "source": source, **more}


def test_a_prompt_brings_the_session_that_did_it(hook: RunHook, tidewatch: Path) -> None:
    printed = hook("claude", "prompt", prompt(tidewatch, KNOWN))
    text = context(printed)
    assert is_injected(text) and 'ref="claude:5b0c6a1e"' in text
    assert "edited | tidewatch/table.py" in text and len(text) <= 480
    assert not hook("claude", "prompt", prompt(tidewatch, KNOWN))


def test_texts_of_hooks_before_a_prompt_are_not_the_prompt(hook: RunHook, tidewatch: Path) -> None:
    """Gemini CLI 0.61.0 sends the escaped text of its start hooks along."""
    own = "<hook_context>&lt;session-memory repo=&quot;x&quot;&gt;\n</hook_context>\n\n"
    text = context(hook("gemini", "prompt", prompt(tidewatch, own + KNOWN)))
    assert 'ref="claude:5b0c6a1e"' in text
    given = prompt(tidewatch, f"<hook_context>{KNOWN}</hook_context>\n\ngo on", session_id="other")
    assert hook("gemini", "prompt", given) == b""


@pytest.mark.parametrize(
    "text",
    [
        *("", "go on", "yes please", "/compact now and keep the tide table in mind please"),
        "write a poem about unicorns and rainbows in the style of a sailor",
        "please add tests",
    ],
)
def test_any_other_prompt_brings_nothing(hook: RunHook, tidewatch: Path, text: str) -> None:
    assert hook("claude", "prompt", prompt(tidewatch, text)) == b""


def test_a_prompt_elsewhere_brings_nothing(hook: RunHook, tmp_path: Path) -> None:
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert hook("claude", "prompt", prompt(tmp_path / "other", KNOWN)) == b""
    assert hook("claude", "prompt", prompt(tmp_path, KNOWN)) == b""


def test_the_line_of_a_repository_is_always_the_same(hook: RunHook, tidewatch: Path) -> None:
    first = hook("claude", "start", start(tidewatch))
    assert hook("claude", "start", start(tidewatch, session_id="another")) == first
    text = context(first)
    assert is_injected(text) and 'repo="tidewatch"' in text and not any(map(str.isdigit, text))
    assert hook("claude", "start", start(tidewatch, "resume")) == b""


def test_an_unknown_repository_has_no_line(hook: RunHook, tmp_path: Path) -> None:
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert hook("claude", "start", start(tmp_path / "other")) == b""
    assert hook("claude", "start", start(tmp_path)) == b""


def test_after_a_compaction_the_session_is_told_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "memory.db"
    open_store(place).close()
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(place))
    home = ClaudeHome(tmp_path, cwd="/home/mira/code/app")
    log = home.session(SESSION)
    log.prompt("make the kumquat faster, and never touch the API")
    log.edit("/home/mira/code/app/src/kumquat.py")
    log.answer("I run the tests.", call("Bash", command="pytest -q"))
    log.result("Exit code 1\nE   ValueError: bad kumquat", is_error=True)
    log.compact()
    home.write()
    printed = run_hook(["claude", "start"], json.dumps(start(tmp_path, "compact")).encode())
    text = context(printed)
    assert is_injected(text) and 'ref="0d5a3c1e"' in text and len(text) <= 1200
    assert "asked | make the kumquat faster" in text
    assert "edited | src/kumquat.py" in text
    assert "open error | ValueError: bad kumquat" in text


def test_a_compaction_of_an_unknown_session_brings_nothing(hook: RunHook, tidewatch: Path) -> None:
    assert hook("claude", "start", start(tidewatch, "compact")) == b""
    assert hook("gemini", "start", start(tidewatch, "compact")) == b""
