"""The tool ``hook`` of the MCP server: the same answers without starting a process."""

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import ERROR
from session_memory.hooks.health import hook_checks
from session_memory.mcp.asking import AskedMemory
from session_memory.mcp.protocol import Protocol, ToolJob

pytestmark = pytest.mark.only("sqlite")


def ask(store: str, at: Path, method: str, **params: Any) -> Any:
    received: list[Any] = []
    protocol = Protocol(received.append, AskedMemory(store, None, at).answer, ToolJob.run)
    line = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    protocol.receive(json.dumps(line).encode())
    (answer,) = received
    return answer["result"]


def call(store: str, at: Path, **arguments: Any) -> str:
    result = ask(store, at, "tools/call", name="hook", arguments=arguments)
    assert result["isError"] is False
    text: str = result["content"][0]["text"]
    return text


def failed(cwd: Path, agent: str, **more: Any) -> dict[str, Any]:
    """The arguments as an agent fills them in."""
    given = {"agent": agent, "event": "failure", "session_id": "s-1", "cwd": str(cwd)}
    return {**given, "command": "python -m pytest -q", **more}


def test_models_do_not_see_it(demo_store: str, tidewatch: Path) -> None:
    tools = ask(demo_store, tidewatch, "tools/list")["tools"]
    assert "hook" not in [tool["name"] for tool in tools]


def test_claude_gets_its_json_and_codex_the_text(demo_store: str, tidewatch: Path) -> None:
    text = call(demo_store, tidewatch, **failed(tidewatch, "claude", error=ERROR))
    own = json.loads(text)["hookSpecificOutput"]
    assert own["hookEventName"] == "PostToolUseFailure"
    plain = call(demo_store, tidewatch, **failed(tidewatch, "codex", tool_response=ERROR))
    assert plain == own["additionalContext"]
    assert call(demo_store, tidewatch, **failed(tidewatch, "codex", tool_response=ERROR)) == ""


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
def test_without_an_answer_the_text_is_empty(
    demo_store: str, tidewatch: Path, arguments: dict[str, Any]
) -> None:
    assert call(demo_store, tidewatch, **arguments) == ""


def test_a_missing_store_is_told_to_doctor(tmp_path: Path) -> None:
    given = failed(tmp_path, "claude", error=ERROR)
    assert call(str(tmp_path / "none.db"), tmp_path, **given) == ""
    (check,) = hook_checks()
    assert "there is no store" in check.text
