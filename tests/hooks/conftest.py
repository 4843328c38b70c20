"""A store with the demo sessions, and hooks that are run in this process."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory.hooks.running import run

ERROR = "Exit code 1\nF\nE   NameError: name 'settings' is not defined\n1 failed in 0.2s"
"""An error of the demo that an edit of ``cache.py`` resolved."""

RunHook = Callable[..., bytes]


@pytest.fixture(autouse=True)
def home(own_home: Path) -> Path:
    return own_home


@pytest.fixture(scope="session")
def demo_store(analyzed_demo: Path) -> str:
    return str(analyzed_demo)


def run_hook(words: list[str], given: bytes) -> bytes:
    """What a hook prints, and nothing on standard error. The exit status is 0."""
    kept = [os.dup(number) for number in range(3)]
    reading, writing = os.pipe()
    errors = os.memfd_create("errors")
    source = os.memfd_create("input")
    try:
        os.write(source, given)
        os.lseek(source, 0, os.SEEK_SET)
        for number, own in enumerate((source, writing, errors)):
            os.dup2(own, number)
        assert run(words) == 0
    finally:
        for number, own in enumerate(kept):
            os.dup2(own, number)
            os.close(own)
        os.close(writing)
    try:
        os.lseek(errors, 0, os.SEEK_SET)
        assert os.read(errors, 1000) == b""
        # The hook keeps its own copy of standard output until the process ends.
        os.set_blocking(reading, False)
        try:
            return os.read(reading, 1 << 20)
        except BlockingIOError:
            return b""
    finally:
        for one in (reading, errors, source):
            os.close(one)


@pytest.fixture
def hook(demo_store: str, monkeypatch: pytest.MonkeyPatch) -> RunHook:
    monkeypatch.setenv("SESSION_MEMORY_STORE", demo_store)

    def ask(agent: str, event: str, payload: Any) -> bytes:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return run_hook([agent, event], data)

    return ask


def claude_failure(cwd: Path, error: str = ERROR, **more: Any) -> dict[str, Any]:
    """The input of Claude Code's hook PostToolUseFailure."""
    return {
        "session_id": "0d5a3c1e-7777-4a4a-8b8b-000000000001",
        "transcript_path": str(cwd / "log.jsonl"),
        "cwd": str(cwd),
        "prompt_id": "p1",
        "permission_mode": "default",
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "python -m pytest -q"},
        "tool_use_id": "toolu_1",
        "error": error,
        "is_interrupt": False,
        "duration_ms": 12,
        **more,
    }


def context(printed: bytes) -> str:
    """The text that reaches the model."""
    values = json.loads(printed)
    own = values.get("hookSpecificOutput", values)
    text: str = own["additionalContext"]
    return text
