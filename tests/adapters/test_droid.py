"""Factory Droid under the contract that every adapter keeps, and what its lines become."""

import json
from pathlib import Path
from typing import Any

from session_memory.adapters.droid import AGENT as adapter
from session_memory.adapters.droid.translate import model_named
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import collected, events_of, every_usage

DATA = Path(__file__).parent.parent / "data" / "droid" / "fork" / "home"
SESSION = "0a0a0a0a-0000"
AT = "2026-11-16T18:33:32.868Z"


class TestRecordedSessions(AdapterContract):
    adapter = adapter
    samples = DATA


def log(home: Path, *lines: dict[str, Any], **start: Any) -> Path:
    place = home / ".factory" / "sessions" / "-home-mira-app"
    place.mkdir(parents=True, exist_ok=True)
    first = {"type": "session_start", "id": SESSION, "title": "go", "cwd": "/home/mira/app"}
    path = place / f"{SESSION}.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in ({**first, **start}, *lines))
    path.write_text(text)
    return path


def message(own: str, role: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"role": role, "content": list(content), **more}
    return {"type": "message", "id": own, "timestamp": AT, "message": body}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def settings(home: Path, model: str, sent: int, given: int) -> None:
    used = {"inputTokens": sent, "outputTokens": given, "cacheReadTokens": 3}
    document = {"model": model, "autonomyMode": "auto-low", "tokenUsage": used}
    path = home / ".factory" / "sessions" / "-home-mira-app" / f"{SESSION}.settings.json"
    path.write_text(json.dumps({**document, "tags": [{"name": "exec"}]}, indent=2))


def test_only_words_of_a_person_are_prompts_and_failed_requests_are_errors(tmp_path: Path) -> None:
    log(
        tmp_path,
        message("context-m1", "user", text("<system-reminder>\nIt is Monday.\n</system-reminder>")),
        message("m1", "user", text("go")),
        message("m2", "user", text("BYOK Error: 400"), visibility="user_only"),
        {"type": "agent_turn_outcome", "turnId": "m1", "reason": "model_request_rejected"},
    )
    with collected(tmp_path) as store:
        events = list(events_of(store, f"droid:{SESSION}"))
    assert [event.kind for event in events] == ["lifecycle", "user_msg", "error"]


def test_a_result_has_the_exit_code_of_its_command(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Execute", "input": {"command": "false"}}
    said = "Error: Command failed (exit code: 3)\nbroken"
    result = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": said}
    log(tmp_path, message("m1", "assistant", call), message("m2", "user", result))
    with collected(tmp_path) as store:
        events = list(events_of(store, f"droid:{SESSION}"))
    assert [(event.kind, event.exit_code) for event in events] == [
        ("tool_call", None),
        ("error", 3),
    ]


def test_a_result_that_only_looks_like_a_failure_is_none(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "/a/end.txt"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "It ended.\nExit Code: 7"}
    log(tmp_path, message("m1", "assistant", call), message("m2", "user", result))
    with collected(tmp_path) as store:
        events = list(events_of(store, f"droid:{SESSION}"))
    assert [(event.kind, event.exit_code) for event in events] == [
        ("tool_call", None),
        ("tool_result", None),
    ]


def test_each_writing_of_the_settings_counts_for_what_it_adds(tmp_path: Path) -> None:
    """Droid logs what a session used only as sums, in a document that it rewrites."""
    home, db = tmp_path / "home", tmp_path / "memory.db"
    log(home, message("m1", "user", text("go")))
    settings(home, "claude-sonnet-4-5", 100, 5)
    collected(home, db).close()
    settings(home, "custom:my-model-0", 250 + (1 << 33), 9)
    with collected(home, db) as store:
        found = {(u.model, u.input_tokens, u.output_tokens) for u in every_usage(store)}
        (session,) = store.sessions.every()
    assert found == {("claude-sonnet-4-5", 100, 5), ("my-model", 150 + (1 << 33), 4)}
    assert (session.cost.input_tokens, session.cost.cache_read_tokens) == (250 + (1 << 33), 3)


def test_a_session_of_another_ones_call_is_its_subagent(tmp_path: Path) -> None:
    log(tmp_path, message("m1", "user", text("go")), callingSessionId="p1", callingToolUseId="c1")
    with collected(tmp_path) as store:
        (session,) = store.sessions.every()
    assert (session.parent_uid, session.relation, session.spawn_call_id) == (
        "droid:p1",
        "subagent",
        "c1",
    )


def test_a_model_of_ones_own_has_the_name_that_the_user_gave_it() -> None:
    assert model_named("custom:my-model-0") == "my-model"
    assert model_named("claude-sonnet-4-5") == "claude-sonnet-4-5"


def test_a_line_of_an_unknown_kind_is_kept(tmp_path: Path) -> None:
    log(tmp_path, {"type": "moon_phase", "id": "0a0a", "summary": "waxing"})
    with collected(tmp_path) as store:
        (event,) = events_of(store, f"droid:{SESSION}")
    assert (event.kind, event.native_kind, event.summary) == ("lifecycle", "moon_phase", "waxing")
