"""Grok sessions of the real program, driven by a script: we count what the script says."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from on_a_server import cases

from session_memory.core.roles import LOG
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

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

CollectedOnce = Callable[[Path], Store]

DATA = Path(__file__).parent.parent / "data" / "grok"
DRIVEN = DATA.with_name("grok_driven")
SAMPLES = sorted(path.parent for place in (DATA, DRIVEN) for path in place.glob("*/EXPECTED.json"))
# Subagents, forks and rewinds are what the most statements are about.
ON_A_SERVER = ("background_nested", "compact_fork_rewind", "fork_subagents", "subagent_resume")


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Path:
    return next(path for path in SAMPLES if path.name == request.param)


NAMES = [path.name for path in SAMPLES]
every_sample = pytest.mark.parametrize("recorded", cases(NAMES, ()), indirect=True)
every_sample_and_some_on_a_server = pytest.mark.parametrize(
    "recorded", cases(NAMES, ON_A_SERVER), indirect=True
)


def truth_of(recorded: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((recorded / "EXPECTED.json").read_text())["truth"]
    return truth


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


@every_sample_and_some_on_a_server
def test_tokens_and_counts_are_those_of_the_script(
    recorded: Path, collected_once: CollectedOnce
) -> None:
    store = collected_once(recorded / "home")
    events = every_event(store)
    sessions = sum((session.cost for session in store.sessions.every()), Cost())
    assert {
        "tokens": named(sessions),
        "user_messages": sum(event.is_a("user_msg") for event in events),
        "tool_calls": sum(event.is_a("tool_call") for event in events),
        "tool_errors": sum(event.is_a("tool_result") and event.is_error for event in events),
    } == truth_of(recorded)["derivable_from_native_log"]


@every_sample
def test_a_session_without_its_subagents_used_what_the_script_says(
    recorded: Path, collected_once: CollectedOnce
) -> None:
    truth = truth_of(recorded)
    tokens = truth["tokens"]
    if truth["derivable_from_native_log"]["tokens"] != tokens["conversation(main+subagents)"]:
        pytest.skip("a turn that never ended left no usage in any file")
    store = collected_once(recorded / "home")
    sessions = store.sessions.every()
    for group, is_child in (("main", False), ("subagents", True)):
        own = [s.cost for s in sessions if (s.relation == "subagent") == is_child]
        assert not own or named(sum(own, Cost())) == tokens["by_group"][group]


@every_sample
def test_usage_is_one_for_each_turn_that_told_it(
    recorded: Path, collected_once: CollectedOnce
) -> None:
    turns = set()
    for path in (recorded / "home").rglob("updates.jsonl"):
        for line in path.read_text().splitlines():
            update = json.loads(line)["params"]["update"]
            if update["sessionUpdate"] == "turn_completed" and "usage" in update:
                turns.add(update["prompt_id"])
    store = collected_once(recorded / "home")
    assert len(every_usage(store)) == len(turns)


@every_sample
def test_the_programs_own_total_of_a_session_is_that_of_all_below_it(
    recorded: Path, collected_once: CollectedOnce
) -> None:
    """In ``usage.json`` also those subagents count that are in no turn."""
    store = collected_once(recorded / "home")
    for path in (recorded / "home").rglob("usage.json"):
        session = store.sessions.get(f"grok:{path.parent.name}")
        assert session is not None
        if session.relation is not None:
            continue
        logged = json.loads(path.read_text())["session"]
        whole = sum(costs_below(store, session.session_uid), Cost())
        assert whole.output_tokens == logged["outputTokens"]
        assert whole.input_tokens + whole.cache_tokens == logged["inputTokens"]
        assert whole.cache_read_tokens == logged["cachedReadTokens"]


def costs_below(store: Store, uid: str) -> Iterator[Cost]:
    session = store.sessions.get(uid)
    assert session is not None
    yield session.cost
    for child in store.sessions.subagents(uid):
        yield from costs_below(store, child)


@every_sample
def test_sessions_come_from_where_the_script_says(
    recorded: Path, collected_once: CollectedOnce
) -> None:
    scripted = truth_of(recorded)["native_sessions"]
    parents = {native["id"]: native.get("parent") for native in scripted}
    store = collected_once(recorded / "home")
    found = {s.native_session_id: s for s in store.sessions.every()}
    assert set(found) == set(parents)
    for native in scripted:
        session = found[native["id"]]
        if native["kind"] == "subagent":
            depth = 2 if parents[native["parent"]] else 1
            expected = (f"grok:{native['parent']}", "subagent", depth)
            assert (session.parent_uid, session.relation, session.spawn_depth) == expected
            assert session.spawn_call_id
        else:
            assert session.relation == ("fork" if native["kind"] == "fork" else None)


@every_sample
def test_an_interruption_is_a_human_intervention(
    recorded: Path, collected_once: CollectedOnce
) -> None:
    ends = ("turn_completed/cancelled", "turn_completed/interrupted")
    store = collected_once(recorded / "home")
    interrupts = [
        event
        for event in every_event(store)
        if event.is_a("human_intervention") and event.native_kind in ends
    ]
    assert bool(interrupts) == truth_of(recorded)["interrupted"]


@every_sample_and_some_on_a_server
def test_a_session_is_whole_provable_and_can_be_restored(recorded: Path, tmp_path: Path) -> None:
    with collected(recorded / "home") as store:
        check_sound(store)
        check_restores(store, None, tmp_path / "again")
        logs = {Path(row.path).name for row in store.sources.every() if row.role == LOG}
        assert logs == {"updates.jsonl"}
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before


def test_a_whole_session_directory_comes_back(tmp_path: Path) -> None:
    home = DATA / "subagent" / "home"
    with collected(home) as store:
        check_restores(store, None, tmp_path / "again")
    kept = {path.relative_to(home) for path in home.rglob("*") if path.is_file()}
    again = {path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*")}
    assert kept <= again


@pytest.mark.only("sqlite")
def test_a_tests_result_is_marked_by_what_its_output_says() -> None:
    """In the scripted session the tests fail, a file is edited, and then they pass."""
    with collected(DATA / "basic" / "home") as store:
        events = every_event(store)
    runs = [event for event in events if event.is_a("test_run")]
    results = [event for event in events if event.call_id in {run.call_id for run in runs}]
    assert [event.kind for event in results] == ["test_run", "error", "test_run", "tool_result"]
    assert [event.exit_code for event in results] == [None, 1, None, 0]
    assert not [event for event in events if event.is_a("retry")]


@pytest.mark.only("sqlite")
def test_answers_carry_their_turns_usage() -> None:
    with collected(DATA / "subagent" / "home") as store:
        for uid in store.sessions.uids():
            session, events = store.sessions.get(uid), events_of(store, uid)
            assert session is not None
            assert sum(event.tokens for event in events) == session.cost.output_tokens
            (last,) = [event for event in events if event.tokens]
            assert last.kind == "assistant_msg" and last.response_id
