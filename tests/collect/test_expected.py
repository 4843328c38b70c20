"""Sessions of the real program, driven by a script: we count what the script says."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.schema import Cost, SessionEvent, Usage
from session_memory.store import Store
from session_memory.testing.collecting import (
    check_restores,
    check_sound,
    collected,
    events_of,
    every_usage,
    rebuilt,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

CollectedOnce = Callable[[Path], Store]

LOGS = {
    "amp": "T-*.json",
    "aider": ".aider.chat.history.md",
    "claude": "*.jsonl",
    "cline": "*.messages.json",
    "codex": "rollout-*.jsonl",
    "copilot": "events.jsonl",
    "cursor": "*.*",
    "droid": "*.json*",
    "gemini": "session-*.json*",
    "grok": "updates.jsonl",
    "kimi": "wire.jsonl",
    "opencode": "opencode.db",
    "pi": "*.jsonl",
    "roo": "[au]*.json",
    "qwen": "????????-*.jsonl",
    "vibe": "*.jsonl",
}
INTERRUPTS = (
    *("user/interrupt", "turn_aborted", "turn_completed", "turn_ended"),
    *("assistant/aborted", "abort", "info", "interrupt", "turn_ended"),
    *("turn.cancel", "TurnEnd", "interrupt"),
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


def test_tokens_and_counts_are_those_of_the_script(
    any_sample: Path, collected_once: CollectedOnce
) -> None:
    derivable = expected_of(any_sample)["truth"]["derivable_from_native_log"]
    store = collected_once(any_sample / "home")
    events = every_event(store)
    sessions = sum((session.cost for session in store.sessions.every()), Cost())
    assert {
        "tokens": named(sessions),
        "user_messages": sum(event.is_a("user_msg") for event in events),
        "tool_calls": sum(event.is_a("tool_call") for event in events),
        "tool_errors": sum(event.is_a("tool_result") and event.is_error for event in events),
    } == derivable


def scripted(expected: dict[str, Any]) -> list[tuple[str, str, str, Counter[str]]]:
    """``(response, lane, model, buckets)`` of every request of the conversation that was answered
    in full; in our buckets, where input is what was not cached."""
    found = []
    for request in expected["requests"]:
        if request["group"] not in ("main", "subagents") or not request.get("usage"):
            continue
        counts = Counter(request["usage"])
        if expected["agent"] == "claude" or request.get("protocol") == "anthropic":
            # The script says how much of the writes is for an hour beside the rest of them.
            counts["cache_write"] += counts["cache_write_1h"]
        else:
            counts["in"] -= counts["cache_read"] + counts["cache_write"]
        if request.get("protocol") == "gemini":
            counts["out"] += counts["reasoning"]
        found.append((request["message_id"], request["lane"], request["model"], +counts))
    return found


def buckets(usage: Usage) -> Counter[str]:
    return +Counter(
        {
            "in": usage.input_tokens,
            "out": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
            "cache_write_1h": usage.cache_write_1h_tokens,
            "reasoning": usage.reasoning_tokens,
        }
    )


@pytest.mark.only("sqlite")
def test_every_request_that_was_answered_in_full_has_its_usage(
    sample: Path, collected_once: CollectedOnce
) -> None:
    expected = expected_of(sample)
    if expected["agent"] in (
        *("amp", "cline", "grok", "gemini", "kimi", "opencode", "roo", "vibe", "droid"),
    ):
        pytest.skip("does not log the ids of responses: see the next test")
    store = collected_once(sample / "home")
    found = {usage.usage_id: (usage.model, buckets(usage)) for usage in every_usage(store)}
    assert found == {response: (model, used) for response, _, model, used in scripted(expected)}


@pytest.mark.only("sqlite")
def test_every_lane_used_what_its_requests_did(sample: Path, collected_once: CollectedOnce) -> None:
    """A parent's turns without its subagents', whatever the agent says per turn or per request."""
    expected = expected_of(sample)
    if any(native["kind"] == "fork" for native in expected["truth"]["native_sessions"]):
        pytest.skip("the script calls a session and its fork one lane")
    lanes: dict[str, Counter[str]] = {}
    for _, lane, _, used in scripted(expected):
        lanes.setdefault(lane, Counter()).update(used)
    sessions: dict[str, Counter[str]] = {}
    store = collected_once(sample / "home")
    for usage in every_usage(store):
        sessions.setdefault(usage.session_uid, Counter()).update(buckets(usage))
    by_size = Counter.total
    assert sorted(sessions.values(), key=by_size) == sorted(lanes.values(), key=by_size)


@pytest.mark.only("sqlite")
def test_an_interruption_is_a_human_intervention(
    sample: Path, collected_once: CollectedOnce
) -> None:
    store = collected_once(sample / "home")
    interrupts = [
        event
        for event in every_event(store)
        if event.is_a("human_intervention") and event.native_kind in INTERRUPTS
    ]
    assert bool(interrupts) == expected_of(sample)["truth"]["interrupted"]


@pytest.mark.only("sqlite")
def test_sessions_have_the_parents_calls_and_depths_of_the_script(
    sample: Path, collected_once: CollectedOnce
) -> None:
    expected = expected_of(sample)
    agent, scripted = expected["agent"], {}
    for native in expected["truth"]["native_sessions"]:
        parent, origin = native.get("parent"), native.get("forked_from")
        if native["kind"] == "fork":
            parent, origin = None, parent or origin
        # Only Claude Code gives a subagent no id of its own.
        nested = parent and agent == "claude"
        native_id = f"{parent}:{native['id']}" if nested else native["id"]
        scripted[f"{agent}:{native_id}"] = (
            f"{agent}:{parent or origin}" if parent or origin else None,
            "subagent" if parent else "fork" if origin else None,
            native.get("depth", 1 if parent else 0),
        )
    calls = {n.get("spawned_by_tool_call") for n in expected["truth"]["native_sessions"]} - {None}
    store = collected_once(sample / "home")
    sessions = list(store.sessions.every())
    found = {s.session_uid: (s.parent_uid, s.relation, s.spawn_depth) for s in sessions}
    assert found == scripted
    started = {s.spawn_call_id for s in sessions} - {None}
    assert not calls or started == calls
    made = {event.call_id for event in every_event(store) if event.is_a("tool_call")}
    assert started <= made, "a subagent was started by a call that nobody made"


def test_a_session_is_whole_provable_and_can_be_restored(any_sample: Path, tmp_path: Path) -> None:
    with collected(any_sample / "home") as store:
        check_sound(store)
        logs = LOGS[expected_of(any_sample)["agent"]]
        check_restores(store, any_sample / "home", tmp_path / "again", logs)
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before


@pytest.mark.only("sqlite")
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
