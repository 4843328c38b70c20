"""Sessions of the real program, driven by a script: we count what the script says."""

import json
from pathlib import Path
from typing import Any

from session_memory.core.schema import Cost, SessionEvent
from session_memory.store import Store
from session_memory.testing.collecting import (
    check_restores,
    check_sound,
    collected,
    events_of,
    every_usage,
    rebuilt,
)


def expected_of(sample: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((sample / "EXPECTED.json").read_text())
    return expected


def every_event(store: Store) -> list[SessionEvent]:
    return [event for uid in store.sessions.uids() for event in events_of(store, uid)]


def named(cost: Cost) -> dict[str, int]:
    """Our buckets under the script's names."""
    return {
        "input_uncached": cost.input_tokens,
        "cache_read": cost.cache_read_tokens,
        "cache_write_5m": cost.cache_write_tokens - cost.cache_write_1h_tokens,
        "cache_write_1h": cost.cache_write_1h_tokens,
        "output_incl_reasoning": cost.output_tokens,
        "reasoning": cost.reasoning_tokens,
        "total": cost.input_tokens + cost.cache_tokens + cost.output_tokens,
    }


def test_tokens_and_counts_are_those_of_the_script(sample: Path) -> None:
    derivable = expected_of(sample)["truth"]["derivable_from_native_log"]
    with collected(sample / "home") as store:
        events = every_event(store)
        sessions = sum((session.cost for session in store.sessions.every()), Cost())
    assert {
        "tokens": named(sessions),
        "user_messages": sum(event.is_a("user_msg") for event in events),
        "tool_calls": sum(event.is_a("tool_call") for event in events),
        "tool_errors": sum(event.is_a("tool_result") and event.is_error for event in events),
    } == derivable


def test_every_request_that_was_answered_in_full_has_its_usage(sample: Path) -> None:
    requests = expected_of(sample)["requests"]
    scripted = {
        request["message_id"]: (request["model"], request["usage"])
        for request in requests
        if request["group"] != "incomplete" and request.get("usage")
    }
    with collected(sample / "home") as store:
        found = {
            usage.usage_id: (
                usage.model,
                {
                    "in": usage.input_tokens,
                    "out": usage.output_tokens,
                    "cache_read": usage.cache_read_tokens,
                    "cache_write": usage.cache_write_tokens,
                    "cache_write_1h": usage.cache_write_1h_tokens,
                    "reasoning": usage.reasoning_tokens,
                },
            )
            for usage in every_usage(store)
        }
    # The script says how much of the writes is for an hour beside the rest of them.
    for _, usage in scripted.values():
        usage["cache_write"] += usage["cache_write_1h"]
    assert found == scripted


def test_an_interruption_is_a_human_intervention(sample: Path) -> None:
    with collected(sample / "home") as store:
        interrupts = [
            event
            for event in every_event(store)
            if event.is_a("human_intervention") and event.native_kind == "user/interrupt"
        ]
    assert bool(interrupts) == expected_of(sample)["truth"]["interrupted"]


def test_sessions_have_the_parents_calls_and_depths_of_the_script(sample: Path) -> None:
    scripted = {}
    for native in expected_of(sample)["truth"]["native_sessions"]:
        parent = native.get("parent")
        native_id = f"{parent}:{native['id']}" if parent else native["id"]
        scripted[f"claude:{native_id}"] = (
            f"claude:{parent}" if parent else None,
            "subagent" if parent else None,
            native.get("spawned_by_tool_call"),
            native.get("depth", 0),
        )
    with collected(sample / "home") as store:
        found = {
            session.session_uid: (
                session.parent_uid,
                session.relation,
                session.spawn_call_id,
                session.spawn_depth,
            )
            for session in store.sessions.every()
        }
    assert found == scripted


def test_a_session_is_whole_provable_and_can_be_restored(sample: Path, tmp_path: Path) -> None:
    with collected(sample / "home") as store:
        check_sound(store)
        check_restores(store, sample / "home", tmp_path / "again")
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before


def test_a_tests_result_is_marked_by_what_its_output_says() -> None:
    """In the scripted session the tests fail, a file is edited, and then they pass."""
    sample = Path(__file__).parent.parent / "data" / "claude" / "basic"
    with collected(sample / "home") as store:
        events = every_event(store)
    runs = [event for event in events if event.is_a("test_run")]
    results = [event for event in events if event.call_id in {run.call_id for run in runs}]
    assert [event.kind for event in results] == ["test_run", "error", "test_run", "tool_result"]
    assert [event.is_error for event in results] == [False, True, False, False]
    # Between them lies an edit, so the second run verifies it and is no retry.
    assert not [event for event in events if event.is_a("retry")]
    assert [event.path for event in events if event.is_a("edit")] == [
        "/home/mira/code/basic/calc.py",
        "/home/mira/code/basic/test_calc.py",
        "/home/mira/code/basic/calc.py",
    ]
