"""Mistral Vibe under the contract that every adapter keeps, and what its records become."""

import json
import shutil
from pathlib import Path
from typing import Any

from session_memory.adapters.vibe import AGENT as adapter
from session_memory.core.schema import Cost
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import collected, events_of, every_usage, rebuilt

DATA = Path(__file__).parent.parent / "data" / "vibe" / "interrupt"
UNKNOWN = (
    b'{"payload":{"phase":"waxing"},"record_sha256":"0a0a","sequence":9,"type":"moon_phase"}\n'
)
SESSION = "0a0a0a0a-0000"


class TestRecordedSession(AdapterContract):
    adapter = adapter
    samples = DATA / "home"
    unknown = UNKNOWN


def journal(home: Path, first: int, *records: tuple[str, dict[str, Any]]) -> None:
    place = home / ".vibe" / "logs" / "session" / "unified" / SESSION / "journal"
    place.mkdir(parents=True, exist_ok=True)
    lines = [
        {"payload": payload, "record_sha256": f"{at:08x}", "sequence": at, "type": kind}
        for at, (kind, payload) in enumerate(records, first)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (place / f"{first:016}.jsonl").write_text(text)


def answer(
    action: str, sent: int, given: int, *parts: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    used = {"input_tokens": sent, "cached_input_tokens": 10, "output_tokens": given}
    result = {"parts": list(parts), "usage": used}
    outcome = {"type": "completion_succeeded", "result": result}
    return "action_result", {"action_id": action, "result": outcome}


def envelope(sent: int, cached: int, given: int, status: str = "") -> tuple[str, dict[str, Any]]:
    used = {"inputTokens": sent, "cachedInputTokens": cached, "outputTokens": given}
    state = {"session": {"tokenUsage": used}, "latestTurn": {"id": "t1", "status": status}}
    return "projection_delta", {"delta": [{"op": "set_envelope", "state": state}]}


def call(own: str, tool: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": own, "name": tool, "arguments_json": '{"command": "ls"}'}


def spent(home: Path) -> Cost:
    with collected(home) as store:
        (session,) = store.sessions.every()
    return session.cost


def test_what_was_used_in_a_deleted_journal_is_the_rest_of_the_running_total(
    tmp_path: Path,
) -> None:
    """Vibe deletes the journals of all runs but the last when a session is resumed."""
    whole, late, gap = tmp_path / "whole", tmp_path / "late", tmp_path / "gap"
    runs = (
        (1, envelope(0, 0, 0), answer("a1", 100, 5), envelope(100, 10, 5)),
        (5, envelope(100, 10, 5), answer("a2", 200, 6), envelope(300, 20, 11)),
        (9, envelope(300, 20, 11), answer("a3", 400, 7), envelope(700, 30, 18)),
    )
    for home, kept in ((whole, (0, 1, 2)), (late, (2,)), (gap, (0, 2))):
        for number in kept:
            journal(home, runs[number][0], *runs[number][1:])
        cost = spent(home)
        figures = cost.input_tokens, cost.cache_read_tokens, cost.output_tokens
        assert figures == (670, 30, 18), home.name
    with collected(gap) as store:
        rest = {u.usage_id.rpartition("@")[2]: u.output_tokens for u in every_usage(store)}
    assert rest == {"a1": 5, "a3": 7, "total": 6}


def test_the_rest_is_the_same_in_whatever_order_journals_come(tmp_path: Path) -> None:
    runs = (
        (1, envelope(0, 0, 0), answer("a1", 100, 5), envelope(100, 10, 5)),
        (5, envelope(100, 10, 5), answer("a2", 200, 6), envelope(300, 20, 11)),
        (9, envelope(300, 20, 11), answer("a3", 400, 7)),
    )
    prints = set()
    for order in ((0, 2), (2, 0)):
        db, home = tmp_path / f"{order[0]}.db", tmp_path / f"home-{order[0]}" / "home"
        for number in order:
            journal(home, runs[number][0], *runs[number][1:])
            collected(home, db).close()
        with collected(home, db) as store:
            (session,) = store.sessions.every()
            assert (session.cost.input_tokens, session.cost.output_tokens) == (670, 18)
            prints.add(json.dumps([usage.to_dict() for usage in every_usage(store)]))
            before = store.fingerprint()
            assert rebuilt(store).fingerprint() == before
    assert len(prints) == 1


def test_the_recorded_session_counts_the_same_without_its_first_journal(tmp_path: Path) -> None:
    shutil.copytree(DATA / "home", tmp_path / "home")
    first = min(tmp_path.glob("home/.vibe/logs/session/unified/*/journal/*.jsonl"))
    before = spent(tmp_path / "home")
    first.unlink()
    after = spent(tmp_path / "home")
    assert (after.input_tokens, after.output_tokens) == (before.input_tokens, before.output_tokens)


def test_the_facts_of_a_session_are_found_beside_an_empty_part_of_its_journal(
    tmp_path: Path,
) -> None:
    shutil.copytree(DATA / "home", tmp_path / "home")
    (part,) = {path.parent for path in (tmp_path / "home").rglob("*.jsonl")}
    (part / "0000000000000099.jsonl").touch()
    for root in (tmp_path / "home", part.parents[1]):
        with collected(root) as store:
            (session,) = store.sessions.every()
        assert (session.cwd, session.model) == ("/home/mira/code/interrupt", "scripted-model")


def test_a_call_of_an_unknown_tool_has_its_result_in_the_next_request(tmp_path: Path) -> None:
    told = {
        "role": "tool",
        "tool_call_id": "c1",
        "outcome": "failure",
        "content": [{"type": "text", "text": "unsupported tool"}],
    }
    sent = {"model_input": {"messages": {"messages": [told]}}}
    journal(
        tmp_path,
        1,
        answer("a1", 100, 5, call("c1", "no_such_tool")),
        ("action_intent", {"kind": "completion", "request": sent}),
        ("action_intent", {"kind": "completion", "request": sent}),
    )
    with collected(tmp_path) as store:
        events = list(events_of(store, f"vibe:{SESSION}"))
    assert [(e.kind, e.call_id, e.is_error) for e in events] == [
        ("tool_call", "c1", False),
        ("error", "c1", True),
    ]


def test_a_command_that_failed_is_an_error_though_the_tool_succeeded(tmp_path: Path) -> None:
    printed = {"returncode": 3, "stdout": "", "stderr": "broken\n"}
    result = {"type": "success", "structured_content": printed, "content": []}
    outcome = {"type": "tool_succeeded", "call_id": "c1", "result": result}
    journal(
        tmp_path,
        1,
        answer("a1", 100, 5, call("c1", "bash")),
        ("action_result", {"action_id": "b1", "result": outcome}),
        envelope(100, 10, 5, "completed"),
    )
    with collected(tmp_path) as store:
        events = list(events_of(store, f"vibe:{SESSION}"))
    assert [(e.kind, e.exit_code) for e in events] == [
        ("tool_call", None),
        ("error", 3),
        ("completion", None),
    ]


def test_an_answer_that_a_person_stopped_ends_with_the_interrupt() -> None:
    """The journal has the interrupt before the half answer, which then looked finished."""
    with collected(DATA / "home") as store:
        (session,) = store.sessions.every()
        events = list(events_of(store, session.session_uid))
    (stopped,) = (n for n, e in enumerate(events) if e.native_kind == "interrupt")
    assert events[stopped - 1].native_kind == "entry/discarded"
    assert (events[stopped].kind, events[stopped].summary) == ("human_intervention", "interrupted")


def test_a_turn_that_no_person_stopped_ends_without_an_intervention(tmp_path: Path) -> None:
    journal(tmp_path, 1, answer("a1", 100, 5), envelope(100, 10, 5, "interrupted"))
    with collected(tmp_path) as store:
        kinds = [event.kind for event in events_of(store, f"vibe:{SESSION}")]
    assert kinds[-1] == "lifecycle"


def test_messages_of_version_2_are_read_without_times(tmp_path: Path) -> None:
    place = tmp_path / ".vibe" / "logs" / "session" / "session_20260701_100000_0a0a0a0a"
    place.mkdir(parents=True)
    asked = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    lines = [
        {"role": "user", "content": "go", "message_id": "m1"},
        {"role": "user", "content": "It is Monday.", "injected": True, "message_id": "m2"},
        {"role": "assistant", "reasoning_content": "Hm.", "tool_calls": [asked], "content": ""},
        {"role": "tool", "tool_call_id": "c1", "content": "README.md"},
    ]
    (place / "messages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    meta = {
        "session_id": "0a0a0a0a",
        "start_time": "2026-07-01T10:00:00+00:00",
        "title": "List",
        "environment": {"working_directory": "/home/mira/app"},
    }
    (place / "meta.json").write_text(json.dumps(meta))
    with collected(tmp_path) as store:
        (session,) = store.sessions.every()
        kinds = [event.kind for event in events_of(store, session.session_uid)]
    assert kinds == ["user_msg", "lifecycle", "thinking", "tool_call", "tool_result"]
    assert (session.cwd, session.started_at) == ("/home/mira/app", "2026-07-01T10:00:00.000Z")
