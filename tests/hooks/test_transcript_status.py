"""Codex tells its hooks the output of a command, and its log how the command ended."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import RunHook, context
from session_memory.hooks.transcript_status import READ, status_in_log

pytestmark = pytest.mark.only("sqlite")

CALL = "call_000000000008"
# Nothing here says by itself that the command failed.
OUTPUT = "NameError: name 'settings' is not defined\n"


def line(status: int | None, call: str = CALL) -> str:
    item = {"type": "CommandExecution", "id": call, "status": "failed", "exit_code": status}
    payload = {"type": "item_completed", "item": item}
    return json.dumps({"type": "event_msg", "payload": payload}) + "\n"


def codex_call(checkout: Path, log: Path) -> dict[str, Any]:
    """As Codex 0.166.0 sends it."""
    return {
        "session_id": "01a1e427-07e5-7373-bd38-cc8e32718551",
        "transcript_path": str(log),
        "cwd": str(checkout),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "tool_response": OUTPUT,
        "tool_use_id": CALL,
    }


def test_a_failure_that_only_the_log_tells_brings_its_fix(
    hook: RunHook, tidewatch: Path, tmp_path: Path
) -> None:
    log = tmp_path / "rollout.jsonl"
    log.write_text(line(0))
    assert hook("codex", "failure", codex_call(tidewatch, log)) == b""
    log.write_text(line(0, "call_000000000001") + line(1))
    text = context(hook("codex", "failure", codex_call(tidewatch, log)))
    assert "edited | tidewatch/cache.py" in text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (line(0), 0),
        (line(2) + line(0, "call_000000000009"), 2),
        (json.dumps({"payload": {"call_id": CALL, "exit_code": 3}}), 3),
        (line(1, "call_000000000009"), None),
        (line(None), None),
        (f'{{"exit_code": 1, "id": "{CALL}"', None),
        (f'["exit_code", "{CALL}"]', None),
        (f'{{"payload": {{"id": "{CALL}", "exit_code": true}}}}', None),
        ("x" * READ + "\n" + line(4), 4),
    ],
)
def test_only_the_status_of_the_call_counts(
    tmp_path: Path, written: str, expected: int | None
) -> None:
    log = tmp_path / "rollout.jsonl"
    log.write_text(written)
    assert status_in_log(str(log), CALL) == expected


def test_a_log_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("", "\0", str(tmp_path), str(tmp_path / "none"), str(tmp_path / "pipe")):
        assert status_in_log(path, CALL) is None
