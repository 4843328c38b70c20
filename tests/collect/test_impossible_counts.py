"""A token count that cannot be true costs that figure alone: it is a problem with its place, the
other figures count, and every other session is stored."""

from pathlib import Path
from typing import Any

import pytest
from on_a_server import cases

from session_memory.adapters import base
from session_memory.adapters.conversation import usage_of as usage_in_conversation
from session_memory.adapters.token_counts import MOST_TOKENS
from session_memory.core.schema import Usage
from session_memory.derive.line_counts import IMPOSSIBLE_COUNT
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.codex import LEGACY, CodexHome, tokens
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    every_usage,
    rebuilt,
    usage_of,
)
from session_memory.testing.grok import GrokHome, used

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

# What a log may hold in place of a whole number, as JSON, and how the problem names it.
NO_COUNT = {
    '"12"': "'12'",
    "1.5": "1.5",
    "NaN": "'nan'",
    "1e400": "'inf'",
    "true": "True",
    "[]": "[]",
    "{}": "{}",
    "-1.0": "-1",
    "1e15": "1000000000000000",
}
WHOLE = {"12.0": 12, "1e3": 1000, "null": 0}
MARK = 40_777_001
"""The figures from here on stand for the values above: builders write only numbers."""

IMPOSSIBLE = [-1, MOST_TOKENS + 1, 2**53, 2**63 - 1, 2**63, 2**64, 10**300]


def problems(store: Store) -> list[tuple[int, int, str]]:
    """Place, length and detail of the problems with counts."""
    return [
        (problem.place, problem.length, problem.detail)
        for problem in store.problems.every()
        if problem.reason == IMPOSSIBLE_COUNT
    ]


def with_values(root: Path) -> Path:
    """Put the values above in the places of the figures that stand for them, in all logs."""
    for path in root.rglob("*.jsonl"):
        data = path.read_bytes()
        for number, value in enumerate((*NO_COUNT, *WHOLE)):
            data = data.replace(str(MARK + number).encode(), value.encode())
        path.write_bytes(data)
    return root


def check_figures(store: Store, found: list[int], name: str) -> None:
    """Only whole numbers count, every other value is a problem with its place and its name."""
    assert found == [0] * len(NO_COUNT) + list(WHOLE.values())
    noted = problems(store)
    assert [detail for *_, detail in noted] == [f"{name} is {shown}" for shown in NO_COUNT.values()]
    assert len({place for place, *_ in noted}) == len(NO_COUNT)
    assert store.problems.count() == len(NO_COUNT)
    check_kept(store)


def check_kept(store: Store) -> None:
    """Nothing but the figure is lost, and a rebuild comes to the same."""
    check_sound(store)
    before = contents(store)
    check_same(before, contents(rebuilt(store)))


def figures(response: Usage) -> tuple[int, int, int, int]:
    cached = response.cache_read_tokens, response.cache_write_tokens
    return response.input_tokens, response.output_tokens, *cached


@pytest.mark.parametrize("count", cases(IMPOSSIBLE, (2**63,)))
def test_an_impossible_output_of_claude(claude: ClaudeHome, count: int) -> None:
    log = claude.session("alpha")
    log.prompt("hello")
    place = len(log.data)
    log.answer("hello", id="msg_1", used=usage(count, input=11, read=1000, write=100, one_hour=40))
    log.answer("more", id="msg_2", used=usage(7, input=5))
    other = claude.session("beta")
    other.prompt("another session")
    other.answer("yes", id="msg_3", used=usage(9, input=6))
    with collected(claude.write()) as store:
        found = {response.usage_id: figures(response) for response in every_usage(store)}
        assert found == {"msg_1": (11, 0, 1000, 100), "msg_2": (5, 7, 0, 0), "msg_3": (6, 9, 0, 0)}
        ((at, length, detail),) = problems(store)
        assert (at, length) == (place, 0)
        assert detail.startswith("output_tokens is ")
        assert [event.tokens for event in events_of(store, log.uid)] == [0, 0, 7]
        check_kept(store)


@pytest.mark.parametrize("name", ["input", "read", "write", "one_hour", "searches"])
def test_any_impossible_count_of_claude_leaves_the_others(claude: ClaudeHome, name: str) -> None:
    counts: dict[str, int] = {"input": 11, "read": 1000, "write": 100, "one_hour": 40}
    log = claude.session("alpha")
    log.prompt("hello")
    whole: dict[str, Any] = usage(7, **counts, searches=2)
    bad: dict[str, Any] = usage(7, **{**counts, "searches": 2, name: 2**53})
    bad["cache_creation"] = {**whole["cache_creation"]}
    if name == "one_hour":
        bad["cache_creation"]["ephemeral_1h_input_tokens"] = 2**53
    log.answer("hello", id="msg_1", used=bad)
    with collected(claude.write()) as store:
        (response,) = usage_of(store, log.uid)
        expected = {"input": 11, "read": 1000, "write": 100, "one_hour": 40, "searches": 2, name: 0}
        if name == "write":
            # Writes to the 1-hour cache are a part of all writes.
            expected["one_hour"] = 0
        assert {
            "input": response.input_tokens,
            "read": response.cache_read_tokens,
            "write": response.cache_write_tokens,
            "one_hour": response.cache_write_1h_tokens,
            "searches": response.web_searches,
        } == expected
        assert response.output_tokens == 7
        assert len(problems(store)) == 1
        check_kept(store)


@pytest.mark.parametrize("count", cases(IMPOSSIBLE, (2**63,)))
def test_an_impossible_input_of_codex(tmp_path: Path, count: int) -> None:
    home = CodexHome(tmp_path / "home")
    log = home.session("main")
    log.turn("hello")
    log.answer("first")
    log.used(input=100, output=10)
    log.answer("second")
    place = len(log.data)
    bad = {**tokens(read=40, output=50), "input_tokens": count}
    log.line("token_usage_record", {"response_id": "r2", "usage": bad})
    log.answer("third")
    log.used(input=30, output=3)
    with collected(home.write()) as store:
        found = [figures(response) for response in usage_of(store, log.uid)]
        assert found == [(100, 10, 0, 0), (0, 50, 40, 0), (30, 3, 0, 0)]
        ((at, length, detail),) = problems(store)
        assert (at, length) == (place, 0)
        assert detail.startswith("input_tokens is ")
        check_kept(store)


@pytest.mark.parametrize("count", cases(IMPOSSIBLE, (2**63,)))
def test_an_impossible_total_of_an_older_codex(tmp_path: Path, count: int) -> None:
    """Older logs repeat a running total. The next total that can be true makes up for it."""
    home = CodexHome(tmp_path / "home")
    log = home.session("main", LEGACY)
    log.turn("hello")
    log.answer("first")
    log.used(input=100, output=10)
    log.answer("second")
    place = len(log.data)
    log.total = {**log.total, "output_tokens": 60}
    bad = {**log.total, "input_tokens": count}
    log.event("token_count", info={"total_token_usage": bad, "last_token_usage": tokens(output=50)})
    log.answer("third")
    log.used(input=30, output=3)
    with collected(home.write()) as store:
        found = [figures(response) for response in usage_of(store, log.uid)]
        assert found == [(100, 10, 0, 0), (0, 50, 0, 0), (30, 3, 0, 0)]
        ((at, length, detail),) = problems(store)
        assert (at, length) == (place, 0)
        assert detail.startswith("input_tokens is ")
        check_kept(store)


@pytest.mark.parametrize("count", cases(IMPOSSIBLE, (2**63,)))
def test_an_impossible_cache_count_of_grok(tmp_path: Path, count: int) -> None:
    home = GrokHome(tmp_path / "home")
    log = home.session("main")
    log.prompt("hello")
    log.say("done")
    log.turn_ended(used(1000, 100, cached=count, reasoning=10))
    other = home.session("other")
    other.prompt("hello")
    other.say("done")
    other.turn_ended(used(300, 30, cached=100))
    with collected(home.write()) as store:
        (response,) = usage_of(store, "grok:main")
        # The input that is logged includes the cached part, which is unknown here.
        assert figures(response) == (1000, 100, 0, 0)
        (fine,) = usage_of(store, "grok:other")
        assert figures(fine) == (200, 30, 100, 0)
        ((_, length, detail),) = problems(store)
        assert length == 0
        assert detail.startswith("cache_read_tokens is ")
        check_kept(store)


def test_what_is_no_whole_number_is_a_problem_in_a_log_of_claude(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("hello")
    for number in range(len(NO_COUNT) + len(WHOLE)):
        log.answer("yes", id=f"msg_{number:02}", used=usage(MARK + number, input=5))
    with collected(with_values(claude.write())) as store:
        used = sorted(usage_of(store, log.uid), key=lambda response: response.usage_id)
        check_figures(store, [response.output_tokens for response in used], "output_tokens")
        assert {response.input_tokens for response in used} == {5}


def test_what_is_no_whole_number_is_a_problem_in_a_log_of_codex(tmp_path: Path) -> None:
    home = CodexHome(tmp_path / "home")
    log = home.session("main")
    log.turn("hello")
    for number in range(len(NO_COUNT) + len(WHOLE)):
        log.answer("yes")
        counted = {**tokens(input=100), "output_tokens": MARK + number}
        log.line("token_usage_record", {"response_id": f"r{number:02}", "usage": counted})
    with collected(with_values(home.write())) as store:
        used = sorted(usage_of(store, log.uid), key=lambda response: response.usage_id)
        check_figures(store, [response.output_tokens for response in used], "output_tokens")
        assert {response.input_tokens for response in used} == {100}


def test_a_running_total_that_is_no_whole_number_is_made_up_for(tmp_path: Path) -> None:
    home = CodexHome(tmp_path / "home")
    log = home.session("main", LEGACY)
    log.turn("hello")
    for number in range(len(NO_COUNT)):
        log.answer("first")
        log.used(input=100, output=10)
        log.answer("second")
        bad = {**log.total, "input_tokens": MARK + number, "output_tokens": 10 * (number + 1) + 1}
        log.event("token_count", info={"total_token_usage": bad, "last_token_usage": tokens()})
    with collected(with_values(home.write())) as store:
        used = usage_of(store, log.uid)
        assert sum(response.input_tokens for response in used) == 100 * len(NO_COUNT)
        assert len(problems(store)) == len(NO_COUNT)
        check_kept(store)


def test_what_is_no_whole_number_is_a_problem_in_a_log_of_grok(tmp_path: Path) -> None:
    home = GrokHome(tmp_path / "home")
    log = home.session("main")
    for number in range(len(NO_COUNT) + len(WHOLE)):
        log.prompt("hello")
        log.say("done")
        log.turn_ended(used(1000, MARK + number))
    with collected(with_values(home.write())) as store:
        found = sorted(usage_of(store, "grok:main"), key=lambda response: response.seq or 0)
        check_figures(store, [response.output_tokens for response in found], "output_tokens")
        assert {response.input_tokens for response in found} == {1000}


def test_only_new_problems_are_listed(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(2**53))
    with collected(claude.write()) as store:
        (source,) = store.db.all("select id from sources")
        ((place, length, detail),) = problems(store)
        known, new = (place, length, IMPOSSIBLE_COUNT, detail), (7, 0, "unreadable", "new")
        assert store.problems.add(source[0], [known, new], 1_800_000_000_000) == [new]


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("value", ["12", 1.5, float("nan"), True, [], {}, -1])
@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "thoughts_token_count"])
def test_what_is_no_whole_number_is_rejected_in_any_conversation(name: str, value: Any) -> None:
    made = usage_in_conversation(
        "id", "model", {"input_tokens": 9, "output_tokens": 7, name: value}
    )
    rejected = "input_tokens" if name == "input_tokens" else "output_tokens"
    assert f"{rejected} is {value!r}" in made.rejected
    kept = {"input_tokens": made.input_tokens, "output_tokens": made.output_tokens}
    assert kept == {"input_tokens": 9, "output_tokens": 7, rejected: 0}


def test_an_impossible_count_is_reported_once(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(2**53))
    with collected(claude.write()) as store:
        log.answer("more", id="msg_2", used=usage(7))
        assert collect(store, claude.write()).new_problems == 0
        assert len(problems(store)) == 1


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("value", ["12", 1.5, None, float("nan"), [], object()])
def test_a_usage_can_be_made_of_anything(value: Any) -> None:
    made = base.NativeUsage("id", "model", input_tokens=value, output_tokens=7)
    made.reject_impossible()
    assert (made.input_tokens, made.output_tokens) == (0, 7)
    assert bool(made.rejected) == (value is not None)


def test_every_usage_is_bounded_whoever_makes_it() -> None:
    made = base.NativeUsage("id", "model", output_tokens=2**53, reasoning_tokens=5)
    assert (made.output_tokens, made.reasoning_tokens) == (0, 0)
    assert made.rejected == f"output_tokens is {2**53}"
    fine = base.NativeUsage("id", "model", output_tokens=MOST_TOKENS, reasoning_tokens=5)
    assert (fine.output_tokens, fine.reasoning_tokens, fine.rejected) == (MOST_TOKENS, 5, "")
