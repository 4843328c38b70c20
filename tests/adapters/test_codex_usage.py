"""What responses used, out of records of their own and out of running totals."""

from pathlib import Path

import pytest

from session_memory.adapters.base import Cursor, NativeUsage, SourceRef
from session_memory.adapters.codex import AGENT as codex
from session_memory.testing.adapters import BytesSource
from session_memory.testing.codex import LEGACY, MODEL, CodexHome, Rollout, tokens


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    return CodexHome(tmp_path)


def used(log: Rollout) -> list[NativeUsage]:
    ref = SourceRef(log.place, session=log.thread)
    read = codex.read(BytesSource(ref, log.data), Cursor())
    return [record.usage for _, record in read if record.usage is not None]


def figures(log: Rollout) -> list[tuple[int, int, int, int]]:
    return [
        (u.input_tokens, u.cache_read_tokens, u.output_tokens, u.reasoning_tokens)
        for u in used(log)
    ]


def test_a_response_with_a_record_of_its_own_is_counted_by_it_alone(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.answer("done")
    log.used("resp_1", input=100, read=60, output=9, reasoning=4)
    [usage] = used(log)
    assert (usage.usage_id, usage.model) == ("resp_1", MODEL)
    assert figures(log) == [(40, 60, 9, 4)]


@pytest.mark.parametrize(("total", "rest"), [(109, 30), (119, 40)])
def test_what_was_written_to_the_cache_is_taken_out_of_the_input_that_holds_it(
    home: CodexHome, total: int, rest: int
) -> None:
    log = home.session("main")
    usage = {**tokens(input=100, read=60, write=10, output=9), "total_tokens": total}
    log.line("token_usage_record", {"response_id": "r", "usage": usage})
    [found] = used(log)
    assert (found.input_tokens, found.cache_write_tokens) == (rest, 10)


def test_the_model_is_that_of_the_turn(home: CodexHome) -> None:
    log = home.session("main")
    for model in ("one", "other"):
        log.turn("go on", model=model)
        log.used(input=1, output=1)
    assert [usage.model for usage in used(log)] == ["one", "other"]


def test_a_total_said_again_is_no_response(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn("go on")
    log.event("token_count", info=None)
    log.used(input=100, read=40, output=9)
    log.count(tokens(input=100, read=40, output=9))
    log.used(input=120, read=90, output=5, reasoning=2)
    log.count(tokens(input=120, read=90, output=5, reasoning=2))
    log.complete()
    assert figures(log) == [(60, 40, 9, 0), (30, 90, 5, 2)]


def test_an_estimate_after_a_compaction_is_not_spent(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn("go on")
    log.used(input=900, output=9)
    log.line("compacted", {"message": "so far"})
    log.count({**tokens(), "total_tokens": 300})
    log.used(input=310, output=2)
    assert figures(log) == [(900, 0, 9, 0), (310, 0, 2, 0)]


def test_a_full_context_starts_the_total_anew(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn("go on")
    log.used(input=900, output=9)
    log.total = {**tokens(), "total_tokens": 258_400}
    log.count({**tokens(), "total_tokens": 257_491})
    log.total = tokens()
    log.used(input=400, output=3)
    assert figures(log) == [(900, 0, 9, 0), (400, 0, 3, 0)]


def test_a_log_that_goes_on_from_a_total_it_does_not_hold_counts_what_it_added(
    home: CodexHome,
) -> None:
    log = home.session("main", LEGACY)
    log.total = tokens(input=5000, output=500)
    log.turn("go on")
    log.count(tokens(input=70, output=7))
    log.answer("done")
    log.used(input=80, output=8)
    assert figures(log) == [(80, 0, 8, 0)]


def test_a_first_total_after_an_answer_counts_the_answer(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.total = tokens(input=5000, output=500)
    log.turn("go on")
    log.answer("done")
    log.used(input=80, output=8)
    assert figures(log) == [(80, 0, 8, 0)]


def test_a_fork_that_starts_counting_anew_is_counted_from_there(home: CodexHome) -> None:
    parent = home.session("parent", LEGACY)
    parent.turn("go on")
    parent.used(input=900, output=9)
    fork = home.session("fork", LEGACY)
    fork.copy(parent.lines)
    fork.total = tokens()
    fork.turn("another way")
    fork.used(input=400, output=3)
    assert figures(fork) == [(900, 0, 9, 0), (400, 0, 3, 0)]
    assert [u.usage_id for u in used(fork)][0] == used(parent)[0].usage_id


def test_figures_that_cannot_be_count_nothing(home: CodexHome) -> None:
    log = home.session("main")
    absurd = {**tokens(output=5), "input_tokens": 1 << 62, "cached_input_tokens": -7}
    log.line("token_usage_record", {"response_id": "r", "usage": absurd})
    log.line("token_usage_record", {"response_id": "s", "usage": tokens()})
    assert figures(log) == [(0, 0, 5, 0)]


def test_usage_of_a_model_nobody_named_is_not_lost(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.used(input=10, output=1)
    assert [usage.model for usage in used(log)] == ["unknown"]


def test_totals_copied_into_a_log_that_keeps_records_are_the_parents(home: CodexHome) -> None:
    """0.166.0 in its older format: a child that is given its parent's history gets the totals, and
    not the records that those are counted by."""
    parent = home.session("parent", LEGACY)
    parent.turn("go on")
    parent.answer("done")
    parent.used(input=100, output=9)
    spawn = {"thread_spawn": {"parent_thread_id": parent.thread, "depth": 1}}
    child = home.session("child", LEGACY, source={"subagent": spawn}, history_mode="legacy")
    child.copy(parent.lines)
    child.turn("count the lines")
    child.answer("one")
    usage = tokens(input=7, output=2)
    child.line("token_usage_record", {"response_id": "resp_1", "usage": usage})
    assert [usage.usage_id for usage in used(child)] == ["resp_1"]
