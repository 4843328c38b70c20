"""The map: blocks and stretches add up, detours are found, the largest cause is named."""

import re
from pathlib import Path
from statistics import median

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.learn.analyze import analyze
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.testing.claude import ClaudeHome, call, text, usage
from session_memory.testing.collecting import collected
from session_memory.views.cost_audit import audit
from session_memory.views.cost_blocks import (
    DEEPEST,
    CostBlock,
    cost_blocks,
    detour_sums,
    largest_cause,
)
from session_memory.views.outline import MOST_POINTS, Outline, outline
from session_memory.views.stretch import stretch
from session_memory.web.cost_map import cost_map
from session_memory.web.map_drawing import session_map

pytestmark = pytest.mark.only("sqlite")


def check_sums(blocks: tuple[CostBlock, ...], total: int) -> None:
    assert sum(block.microdollars for block in blocks) == total
    for block in blocks:
        if block.below:
            check_sums(block.below, block.microdollars)


def test_the_blocks_of_the_map_add_up_on_every_level(memory: Memory) -> None:
    for one in memory.sessions():
        found = outline(memory.store, one.uid)
        blocks = cost_blocks(memory.store, found)
        check_sums(blocks, one.cost_with_subagents.microdollars)
        assert sum(detour_sums(found).values()) <= found.microdollars
        assert sum(spent[2] for spent in found.to_dict()["spend"]) == found.microdollars
        assert len(found.to_dict()["spend"]) <= MOST_POINTS


def test_stretches_that_follow_each_other_are_the_whole_session(memory: Memory) -> None:
    for one in memory.sessions():
        last = outline(memory.store, one.uid).last_seq
        whole = stretch(memory.store, one.uid, 0, last)
        totals = audit(memory.store, one.uid).totals
        assert whole.tally == totals
        cuts = [0, last // 3, last // 2, last + 1]
        parts = [
            stretch(memory.store, one.uid, first, until - 1)
            for first, until in zip(cuts, cuts[1:], strict=False)
            if until > first
        ]
        assert sum(part.tally.microdollars for part in parts) == totals.microdollars
        for name in ("events", "calls", "errors", "prompts", "passed", "failed"):
            assert sum(getattr(part, name) for part in parts) == getattr(whole, name), name
        assert whole.events == len(list(one.events))
        assert not stretch(memory.store, one.uid, last + 1, last + 9).tally.responses
        assert {path for part in parts for path in part.edited} == set(whole.edited)


def test_a_stretch_is_shown_with_its_sums(client: TestClient, memory: Memory) -> None:
    one = max(memory.sessions(), key=lambda each: each.cost.microdollars)
    found = stretch(memory.store, one.uid, 3, 20)
    for headers in ({}, {"X-Part": "stretch"}):
        page = client.get(f"/s/{one.uid}/stretch?from=20&to=3", headers=headers).text
        assert "Events 3 to 20" in page and money(found.tally.amount) in page
        assert ("<html" in page) is not bool(headers)
    assert client.get(f"/s/{one.uid}/stretch?from=x").status_code == 200


def seen(tmp_path: Path, home: ClaudeHome, name: str) -> tuple[Memory, Outline]:
    collected(home.write(), tmp_path / "memory.db").close()
    memory = Memory(str(tmp_path / "memory.db"), create=False)
    return memory, outline(memory.store, f"claude:{name}")


def test_detours_are_responses_that_failed_or_were_paid_twice(
    tmp_path: Path, claude: ClaudeHome
) -> None:
    log = claude.session("detours")
    log.prompt("go")

    def step(number: int, cached: int, written: int, *, fails: bool = False) -> None:
        used = usage(50, read=cached, write=written)
        log.answer(call("Bash", f"c{number}", command=f"run {number}"), used=used)
        log.result("Exit code 1\nno" if fails else "yes", is_error=fails)

    step(0, 0, 20_000)
    step(1, 20_000, 500)
    step(2, 20_500, 500, fails=True)
    step(3, 21_000, 500)
    # The cache is gone: everything is written again.
    step(4, 0, 22_000)
    step(5, 22_000, 500)
    log.answer(text("done"), used=usage(20, read=22_500))
    memory, found = seen(tmp_path, claude, "detours")
    with memory:
        assert [one.detour for one in found.responses] == ["", "", "failed", "", "uncached", "", ""]
        assert [one.tool for one in found.responses] == ["Bash"] * 6 + [""]
        assert [one.made_of for one in found.responses][0] == "written"
        costs = [one.microdollars for one in found.responses]
        assert detour_sums(found) == {"uncached": costs[4], "failed": costs[2]}
        blocks = cost_blocks(memory.store, found)
        check_sums(blocks, sum(costs))
        (turn,) = blocks
        assert [step.look for step in turn.below if step.look in ("failed", "uncached")] == [
            "failed",
            "uncached",
        ]
        cause = largest_cause(found, blocks)
        assert cause is not None and cause.microdollars == costs[4]
        assert (cause.what, cause.which) == (
            "paid for twice because the cache was gone",
            "1 response",
        )


def test_what_came_between_a_failure_and_its_success_is_a_detour_until_the_turn_ends(
    tmp_path: Path, claude: ClaudeHome
) -> None:
    log = claude.session("spans")

    def run(number: int, command: str, output: str, *, fails: bool = False) -> None:
        log.answer(call("Bash", f"c{number}", command=command), used=usage(50, read=100))
        log.result(output, is_error=fails)

    log.prompt("go")
    run(0, "python a.py", "ModuleNotFoundError: No module named 'yaml'", fails=True)
    run(1, "ls", "a.py")
    run(2, "pip install pyyaml", "Successfully installed pyyaml")
    run(3, "python a.py", "done")
    run(4, "python b.py", "ModuleNotFoundError: No module named 'attr'", fails=True)
    log.prompt("first something else")
    run(5, "ls", "a.py")
    run(6, "pip install attrs", "Successfully installed attrs")
    run(7, "python b.py", "done")
    memory, before = seen(tmp_path, claude, "spans")
    with memory:
        assert [one.detour for one in before.responses].count("failed") == 2
        analyze(memory.store)
        found = outline(memory.store, "claude:spans")
        detours = [one.detour for one in found.responses]
        assert detours == ["failed"] * 3 + ["", "failed", "", "", ""]
        check_sums(cost_blocks(memory.store, found), found.microdollars)


def test_a_person_who_refuses_is_no_failure_and_a_fold_is_no_lost_cache(
    tmp_path: Path, claude: ClaudeHome
) -> None:
    log = claude.session("quiet")
    log.prompt("go")
    used = usage(50, write=20_000)
    log.answer(call("Bash", "c0", command="rm"), used=used)
    log.result(
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        is_error=True,
    )
    log.note("system", subtype="compact_boundary", content="Conversation compacted")
    log.answer(text("on"), used=usage(50, write=18_000))
    memory, found = seen(tmp_path, claude, "quiet")
    with memory:
        assert [one.detour for one in found.responses] == ["", ""]
        assert "compaction" in [mark.sort for mark in found.marks]


def test_the_page_of_the_map_says_the_cause_and_has_lists(
    client: TestClient, memory: Memory
) -> None:
    for one in memory.sessions():
        found = outline(memory.store, one.uid)
        blocks = cost_blocks(memory.store, found)
        page = client.get(f"/s/{one.uid}/map").text
        cause = largest_cause(found, blocks)
        if cause is not None:
            assert re.search(r"\d+ % of it was ", page)
            assert "The map by cost as a list" in page


def test_the_page_of_the_map_compares_with_sessions_like_it(
    client: TestClient, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.web.pages.like_sessions.LEAST", 1)
    compared = 0
    for one in memory.sessions():
        page = client.get(f"/s/{one.uid}/map", headers={"X-Part": "like"}).text
        others = memory.similar(one.uid, limit=30).found
        assert "<html" not in page
        assert ("No other session is like this one" in page) is not bool(others)
        if found := re.search(r"([\d.]+) times the cost \(([^)]+)\)", page):
            costs = [memory.session(o.session.uid).cost_with_subagents for o in others]
            usual = median([cost.microdollars for cost in costs if cost.microdollars])
            mine = one.cost_with_subagents.microdollars
            assert float(found[1]) == round(mine / usual, 1)
            assert found[2] == money(Amount(round(usual)))
            compared += 1
    assert compared


def test_a_subagent_of_a_subagent_is_a_block_of_its_own(memory: Memory) -> None:
    below = [
        part
        for one in memory.sessions()
        for block in cost_blocks(memory.store, outline(memory.store, one.uid))
        for part in block.below
        if part.look == "agent"
    ]
    assert below and all(part.below for part in below)


def test_subagents_of_subagents_are_blocks_and_lanes_at_any_depth(
    tmp_path: Path, claude: ClaudeHome
) -> None:
    log = claude.session("top")
    log.prompt("go")
    names = [f"agent{number}" for number in range(DEEPEST + 3)]
    above = log
    for number, name in enumerate(names):
        above.answer(call("Task", f"t{number}", prompt=name), used=usage(10, write=100))
        inner = claude.session(name, slug="go")
        inner.prompt(name)
        inner.answer(text("yes"), used=usage(10 * (number + 1), write=100))
        above.result("done")
        above = inner
    memory, found = seen(tmp_path, claude, "top")
    with memory:
        # The logs are those of sessions of their own. What matters here is who started whom.
        with memory.store.transaction():
            for parent, name in zip(["top", *names], names, strict=False):
                row = memory.store.sessions.row(f"claude:{name}")
                assert row is not None
                row.parent_uid, row.relation = f"claude:{parent}", "subagent"
                memory.store.sessions.save(row)
        found = outline(memory.store, "claude:top")
        assert [lane.sort for lane in found.lanes] == ["subagent"] + ["deeper"] * (len(names) - 1)
        blocks = cost_blocks(memory.store, found)
        whole = memory.session("claude:top").cost_with_subagents.microdollars
        check_sums(blocks, whole)
        assert depth_of(blocks) > DEEPEST
        drawing = cost_map(blocks)
        assert "agent2" in drawing or "◇" in drawing
        assert "↳" in session_map(found, "time")


def depth_of(blocks: tuple[CostBlock, ...]) -> int:
    return max((1 + depth_of(block.below) for block in blocks), default=0)


def test_a_fork_begins_where_it_leaves_the_common_past(memory: Memory) -> None:
    for one in memory.sessions():
        found = outline(memory.store, one.uid)
        for lane in found.lanes:
            if lane.sort == "fork":
                assert lane.seq is not None and 0 < lane.seq <= found.last_seq
