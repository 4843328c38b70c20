"""Parts add up to the whole, and the database counts what one can count by looking at events."""

from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.schema import SessionEvent
from session_memory.core.time import parse_time
from session_memory.store import Store
from session_memory.store.statistics_parts import CAP_MS
from session_memory.testing.collecting import collect, events_of
from session_memory.testing.stores import Stores
from session_memory.views.stats import facets

from .conftest import report


@pytest.fixture(scope="module")
def kept_open() -> Iterator[dict[str, Store]]:
    """The stores of `store`, by database."""
    stores: dict[str, Store] = {}
    yield stores
    for store in stores.values():
        store.close()


@pytest.fixture
def store(
    database: str, stores: Stores, data_homes: list[Path], kept_open: dict[str, Store]
) -> Store:
    """Sessions of three agents: subagents, retries, refusals, interruptions, compactions.

    They are collected once: reports only read them.
    """
    if database not in kept_open:
        kept_open[database] = stores.new()
        for home in data_homes:
            collect(kept_open[database], home)
    return kept_open[database]


def sums(store: Store, **filters: Any) -> Counter[str]:
    """Everything in a report that is a count, under a name."""
    found = report(store, limit=0, **filters).sections
    counts: Counter[str] = Counter()
    summary = found["summary"]
    for name in ("sessions", "turns", "completed", "calls", "failed", "edits", "retries"):
        counts[name] = getattr(summary, name)
    for name in ("api_errors", "responses", "input_tokens", "output_tokens"):
        counts[name] = getattr(summary, name)
    counts["events"], counts["undated"] = summary.events, summary.undated
    for row in found["tools"].rows:
        counts[f"tool {row.tool}"] = row.calls
        counts[f"failed {row.tool}"] = row.failed
        counts[f"measured {row.tool}"] = row.measured
    for row in found["models"].rows:
        counts[f"model {row.model}"] = row.responses
    for row in found["files"].rows:
        counts[f"file {row.repo} {row.path}"] = row.edits
    for day in found["activity"].days:
        counts[f"day {day.day}"] = day.events
    for who in ("person", "model", "tools", "other"):
        counts[f"wait {who}"] = getattr(found["time"], who).ms
        counts[f"away {who}"] = getattr(found["time"], who).away_ms
    counts["tests"], counts["passed"] = found["tests"].runs, found["tests"].passed
    counts["sent"] = found["cache"].sent_tokens
    counts["contexts"] = sum(band.contexts.count for band in found["context"].bands)
    counts["drops"] = found["context"].drops
    return +counts


def test_periods_add_up_to_all_time(store: Store) -> None:
    moments = [
        parse_time(event.ts)
        for uid in store.sessions.uids()
        for event in events_of(store, uid)
        if event.ts
    ]
    whole = sums(store)

    @settings(max_examples=times(6), deadline=None)
    @given(st.lists(st.sampled_from(moments), min_size=1, max_size=2).map(sorted))
    def check(cuts: list[int]) -> None:
        ends = [None, *cuts, None]
        parts: Counter[str] = Counter()
        for since, until in zip(ends, ends[1:], strict=False):
            parts += sums(store, since=since, until=until)
        assert parts == whole

    check()


@pytest.mark.parametrize("facet", [0, 1])
def test_agents_and_repositories_add_up_to_everything(store: Store, facet: int) -> None:
    name = ("flavor", "repo")[facet]
    parts: Counter[str] = Counter()
    for value in facets(store)[facet]:
        parts += sums(store, **{name: value})
    assert all(session.repo for session in store.sessions.every())
    assert parts == sums(store)


def test_responses_of_each_model_add_up_to_all_of_them(store: Store) -> None:
    whole = report(store, ["summary"]).sections["summary"]
    models = facets(store)[2]
    # A name may stand within another.
    alone = [one for one in models if not any(one in other for other in models if other != one)]
    assert alone == models
    parts = [report(store, ["summary"], model=one).sections["summary"] for one in models]
    assert sum(part.responses for part in parts) == whole.responses
    assert sum(part.turns for part in parts) == whole.turns


def test_what_does_not_exist_leaves_nothing(store: Store) -> None:
    for filters in (
        {"flavor": "nobody"},
        {"repo": "nowhere"},
        {"model": "none"},
        {"since": 1 << 45},
    ):
        assert not sums(store, **filters)


# ------------------------------------------------------------ counted by looking


def everything(store: Store) -> list[list[SessionEvent]]:
    return [events_of(store, uid) for uid in store.sessions.uids()]


@pytest.mark.only("sqlite")
def test_tools_are_as_one_counts_them_by_looking(store: Store) -> None:
    events = [event for events in everything(store) for event in events]
    calls = Counter(event.tool for event in events if event.is_a("tool_call"))
    results = [event for event in events if event.is_a("tool_result")]
    failed = Counter(event.tool for event in results if event.is_error)
    spent: dict[str | None, list[int]] = {}
    for event in results:
        if event.duration_ms is not None:
            spent.setdefault(event.tool, []).append(event.duration_ms)
    rows = report(store, ["tools"], limit=0).sections["tools"].rows
    assert {row.tool: row.calls for row in rows if row.calls} == dict(calls)
    assert {row.tool: row.failed for row in rows if row.failed} == dict(failed)
    for row in rows:
        ordered = sorted(spent.get(row.tool, []))
        assert row.measured == len(ordered)
        if ordered:
            assert row.median_ms == ordered[ceil(len(ordered) * 0.5) - 1]
            assert row.p95_ms == ordered[ceil(len(ordered) * 0.95) - 1]


@pytest.mark.only("sqlite")
def test_what_subagents_complete_is_no_turn(store: Store) -> None:
    completed = ended = 0
    for session in store.sessions.every():
        events = events_of(store, session.session_uid)
        ends = [event for event in events if event.is_a("completion")]
        ended += len(ends)
        if session.relation != "subagent":
            completed += sum(not event.is_sidechain for event in ends)
    assert report(store, ["summary"]).sections["summary"].completed == completed < ended


def who(event: SessionEvent) -> str | None:
    if any(event.is_a(kind) for kind in ("user_msg", "human_intervention", "decision")):
        return "person"
    if event.is_a("tool_result"):
        return "tools"
    if event.role == "assistant" and not event.is_a("lifecycle"):
        return "model"
    if event.is_a("error") or event.is_a("retry"):
        return "model"
    return "other" if event.is_a("lifecycle") and event.role == "user" else None


@pytest.mark.only("sqlite")
def test_waits_are_as_one_counts_them_by_looking(store: Store) -> None:
    waited: Counter[str] = Counter()
    for events in everything(store):
        latest = None
        for event in events:
            actor = who(event)
            if actor is None or event.ts is None:
                continue
            now = parse_time(event.ts)
            if latest is not None and now > latest:
                waited[actor] += min(now - latest, CAP_MS)
            latest = now if latest is None else max(now, latest)
    time = report(store, ["time"]).sections["time"]
    assert {name: getattr(time, name).ms for name in ("person", "model", "tools", "other")} == {
        name: waited[name] for name in ("person", "model", "tools", "other")
    }
    assert waited["person"] and waited["model"] and waited["tools"]


@pytest.mark.only("sqlite")
def test_test_runs_are_as_one_counts_them_by_looking(store: Store) -> None:
    outcomes: Counter[bool | None] = Counter()
    for events in everything(store):
        for place, event in enumerate(events):
            if event.is_a("test_run") and event.is_a("tool_call"):
                later = (one for one in events[place + 1 :] if one.call_id == event.call_id)
                result = next((one for one in later if one.is_a("tool_result")), None)
                refused = result is None or result.is_a("human_intervention")
                outcomes[None if refused or result is None else result.is_error] += 1
    tests = report(store, ["tests"]).sections["tests"]
    assert (tests.passed, tests.failed, tests.unknown) == (
        outcomes[False],
        outcomes[True],
        outcomes[None],
    )
    assert tests.runs


def test_what_is_logged_for_a_whole_turn_is_no_context(
    stores: Stores, data_homes: list[Path]
) -> None:
    with stores.new() as store:
        for home in data_homes:
            if home.parent.name == "grok":
                collect(store, home)
        found = report(store, ["cache", "context"]).sections
        assert found["cache"].sent_tokens
        assert found["context"].bands == [] and found["context"].peaks is None
