"""The tool ``hook`` of the MCP server: the same answers without starting a process."""

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import ERROR
from session_memory.hooks.health import hook_checks
from session_memory.mcp.protocol import Protocol, ToolJob
from session_memory.mcp.serving import late_answers

pytestmark = pytest.mark.only("sqlite")


def ask(store: str, method: str, **params: Any) -> Any:
    received: list[Any] = []
    protocol = Protocol(received.append, late_answers(store, None), ToolJob.run)
    line = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    protocol.receive(json.dumps(line).encode())
    (answer,) = received
    return answer["result"]


def call(store: str, **arguments: Any) -> str:
    result = ask(store, "tools/call", name="hook", arguments=arguments)
    assert result["isError"] is False
    text: str = result["content"][0]["text"]
    return text


def failed(cwd: Path, agent: str, **more: Any) -> dict[str, Any]:
    """The arguments as an agent fills them in."""
    given = {"agent": agent, "event": "failure", "session_id": "s-1", "cwd": str(cwd)}
    return {**given, "command": "python -m pytest -q", **more}


def test_models_do_not_see_it(demo_store: str) -> None:
    tools = ask(demo_store, "tools/list")["tools"]
    assert "hook" not in [tool["name"] for tool in tools]


def test_the_answer_is_what_the_command_prints(demo_store: str, tidewatch: Path) -> None:
    text = call(demo_store, **failed(tidewatch, "claude", error=ERROR))
    own = json.loads(text)["hookSpecificOutput"]
    assert own["hookEventName"] == "PostToolUseFailure"
    other = call(demo_store, **failed(tidewatch, "codex", tool_response=ERROR))
    # Codex drops a plain text after this event.
    assert json.loads(other)["hookSpecificOutput"] == {**own, "hookEventName": "PostToolUse"}
    assert call(demo_store, **failed(tidewatch, "codex", tool_response=ERROR)) == ""


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"agent": "claude"},
        {"agent": "claude", "event": "end", "session_id": "0d5a3c1e-7777"},
        {"agent": ["claude"], "event": {}},
        {"agent": "claude", "event": "failure", "error": "${error}", "command": "${x}"},
    ],
)
def test_without_an_answer_the_text_is_empty(demo_store: str, arguments: dict[str, Any]) -> None:
    assert call(demo_store, **arguments) == ""


def test_a_missing_store_is_told_to_doctor(tmp_path: Path) -> None:
    given = failed(tmp_path, "claude", error=ERROR)
    assert call(str(tmp_path / "none.db"), **given) == ""
    (check,) = hook_checks()
    assert "there is no store" in check.text
