"""What each agent sends when a command fails, and the form in which it accepts an answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import ERROR, RunHook, claude_failure, context
from session_memory.hooks.agents import AGENTS
from session_memory.hooks.state import is_waiting

pytestmark = pytest.mark.only("sqlite")

OUTPUT = ERROR.partition("\n")[2]
COMMAND = "python -m pytest -q"


def inputs(cwd: Path, output: str = OUTPUT, status: int = 1) -> dict[str, dict[str, Any]]:
    """The input of each agent's hook after a shell command."""
    after = {
        "session_id": "s-1",
        "transcript_path": str(cwd / "none.jsonl"),
        "cwd": str(cwd),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": COMMAND},
        "tool_use_id": "call_1",
    }
    plain = {"session_id": "s-1", "cwd": str(cwd), "tool": "bash", "command": COMMAND}
    gemini = f"Command: {COMMAND}\nDirectory: (root)\nOutput: {output}\nExit Code: {status}"
    return {
        "claude": claude_failure(cwd, f"Exit code {status}\n{output}"),
        "qwen": {
            **claude_failure(cwd, f"Command: {COMMAND}\nOutput: {output}\nExit Code: {status}"),
            "tool_name": "run_shell_command",
        },
        "codex": {**after, "tool_response": output},
        "grok": {
            **after,
            "sessionId": "s-1",
            "toolName": "run_terminal_command",
            "toolInput": {"command": COMMAND},
            "toolResult": {
                "exit_code": status,
                "output": list(output.encode()),
                "output_for_prompt": output,
            },
        },
        "gemini": {
            **after,
            "hook_event_name": "AfterTool",
            "tool_name": "run_shell_command",
            "tool_response": {"llmContent": gemini, "returnDisplay": output},
        },
        "copilot": {
            "timestamp": 1,
            "sessionId": "s-1",
            "cwd": str(cwd),
            "toolName": "bash",
            "toolArgs": json.dumps({"command": COMMAND}),
            "toolResult": {
                "resultType": "success",
                "textResultForLlm": f"{output}\n<exited with exit code {status}>",
            },
        },
        "opencode": {**plain, "output": output, "exit": status},
        "pi": {**plain, "output": output, "exit": status},
    }


EVENTS = {
    "claude": "PostToolUseFailure",
    "qwen": "PostToolUseFailure",
    "codex": "PostToolUse",
    "grok": "PostToolUse",
    "gemini": "AfterTool",
}


def test_every_agent_has_an_input_here(tmp_path: Path) -> None:
    assert set(inputs(tmp_path)) == set(AGENTS)


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_an_agent_gets_the_fix_in_its_form(hook: RunHook, tidewatch: Path, agent: str) -> None:
    printed = hook(agent, "failure", inputs(tidewatch)[agent])
    assert "edited | tidewatch/cache.py" in context(printed)
    values = json.loads(printed)
    if agent in EVENTS:
        own = values.pop("hookSpecificOutput")
        assert own.pop("hookEventName") == EVENTS[agent]
        assert list(own) == ["additionalContext"] and not values
    else:
        assert list(values) == ["additionalContext"]


@pytest.mark.parametrize("agent", sorted(set(AGENTS) - {"claude", "qwen", "codex"}))
def test_a_command_that_passed_brings_nothing(hook: RunHook, tidewatch: Path, agent: str) -> None:
    assert hook(agent, "failure", inputs(tidewatch, status=0)[agent]) == b""


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_a_status_that_is_an_answer_brings_nothing(
    hook: RunHook, tidewatch: Path, agent: str
) -> None:
    text = json.dumps(inputs(tidewatch)[agent]).replace(COMMAND, "rg settings; test -f x")
    assert hook(agent, "failure", text.encode()) == b""


@pytest.mark.parametrize("command", ["cat test.log", "cd x && grep -n Error log | head", "git log"])
def test_printing_an_old_error_is_no_failure(hook: RunHook, tidewatch: Path, command: str) -> None:
    given = {**inputs(tidewatch)["codex"], "tool_input": {"command": command}}
    assert hook("codex", "failure", given) == b""


def test_words_behind_an_error_show_that_the_command_went_on(
    hook: RunHook, tidewatch: Path
) -> None:
    output = f"{OUTPUT}\nthat was before\nnow all is well\n12 passed"
    assert hook("codex", "failure", inputs(tidewatch, output)["codex"]) == b""


@pytest.mark.parametrize("name", ["grok", "gemini", "qwen"])
def test_a_hook_that_another_agent_runs_does_nothing(
    hook: RunHook, tidewatch: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AGENTS[name].variable, "x")
    given = inputs(tidewatch)
    assert hook("claude", "failure", given["claude"]) == b""
    assert hook("claude", "end", given["claude"]) == b""
    assert not is_waiting()
    assert context(hook(name, "failure", given[name]))
