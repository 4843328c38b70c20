"""The thirteen accounting traps of Claude Code logs and an unknown model, to the micro-dollar.

The figures are worked out by hand from the published prices of the models, in dollars for a
million tokens, which is the same as micro-dollars for one: Opus 4.8 takes 5 for input, 25 for
output, 0.5 from the cache, 6.25 into it for minutes and 10 for an hour; in fast mode twice that.
"""

import json
from typing import Any

import pytest

from session_memory.core.money import OwnPrice
from session_memory.pricing import Amount, session_amounts, shown, tree_amounts
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, call, text, thinking, usage
from session_memory.testing.collecting import collected
from session_memory.views.cost import CostFilter, cost_report
from session_memory.views.cost_audit import audit

pytestmark = pytest.mark.usefixtures("on_the_database")


def spent(store: Store) -> int:
    """The same on every way to ask: by session, by day, by model."""
    by_session = sum(amount.microdollars for amount in session_amounts(store).values())
    for by in ("day", "model", "session", "block"):
        assert cost_report(store, CostFilter(by=by)).totals.microdollars == by_session
    return by_session


def cost_of(claude: ClaudeHome) -> int:
    with collected(claude.write()) as store:
        return spent(store)


@pytest.mark.only("sqlite")
def test_one_message(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(7, input=11, read=1000, write=100))
    # 11 x 5 + 7 x 25 + 1,000 x 0.5 + 100 x 6.25
    assert cost_of(claude) == 55 + 175 + 500 + 625


@pytest.mark.only("sqlite")
def test_a_message_streamed_over_several_lines(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer(
        thinking("hm"),
        "I look.",
        call("Bash", command="ls"),
        id="msg_1",
        early=usage(2, input=11, read=1000),
        used=usage(70, input=11, read=1000),
    )
    assert cost_of(claude) == 55 + 70 * 25 + 500


@pytest.mark.only("sqlite")
def test_a_streamed_message_without_a_request_id(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer(
        "a", "b", "c", id="msg_1", early=usage(1, input=5), used=usage(9, input=5), requestId=...
    )
    assert cost_of(claude) == 25 + 9 * 25


def test_a_tool_result_between_two_lines_of_a_message(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer(call("Read", file_path="a.py"), id="msg_1", used=usage(30), stop="tool_use")
    log.result("contents of a")
    log.answer(call("Read", file_path="b.py"), id="msg_1", used=usage(40), stop="tool_use")
    log.result("contents of b")
    log.answer("both read", id="msg_2", used=usage(5))
    assert cost_of(claude) == 2 * 3 * 5 + (40 + 5) * 25


def test_a_rewound_branch(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    fork_at = log.answer("hello", id="msg_1", used=usage(1))[0]
    log.prompt("do it this way")
    log.answer("did it this way", id="msg_2", used=usage(2))
    log.rewind(fork_at)
    log.prompt("do it that way")
    log.answer("did it that way", id="msg_3", used=usage(4))
    with collected(claude.write()) as store:
        assert spent(store) == 3 * 3 * 5 + 7 * 25
        found = audit(store, "claude:alpha")
        # The branch that was left, and what it had cost.
        assert list(found.branches.values()) == [3 * 5 + 2 * 25]


@pytest.mark.only("sqlite")
def test_a_resumed_file_that_replays_another(claude: ClaudeHome) -> None:
    first = claude.session("first", version="1.0.31")
    first.prompt("hello")
    first.answer("hello", id="msg_1", used=usage(10))
    second = claude.fork(first, "second")
    second.prompt("and now?")
    second.answer("more", id="msg_2", used=usage(5))
    with collected(claude.write()) as store:
        assert session_amounts(store) == {
            "claude:first": Amount(3 * 5 + 10 * 25),
            "claude:second": Amount(3 * 5 + 5 * 25),
        }
        assert spent(store) == 2 * 3 * 5 + 15 * 25


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("below", [False, True])
def test_subagent_files_beside_and_below_the_session(claude: ClaudeHome, below: bool) -> None:
    log = claude.session()
    log.prompt("delegate")
    log.answer(call("Task", prompt="look"), id="msg_1", used=usage(10))
    agent = claude.subagent(log, "a1", below=below)
    agent.prompt("look")
    agent.answer("looked", id="msg_2", used=usage(20))
    log.result("looked", details={"agentId": "a1", "totalTokens": 23, "usage": usage(20)})
    with collected(claude.write()) as store:
        assert session_amounts(store)["claude:alpha"] == Amount(15 + 250)
        assert tree_amounts(store) == {
            "claude:alpha": Amount(15 + 250 + 15 + 500),
            "claude:alpha:a1": Amount(15 + 500),
        }
        assert spent(store) == 15 + 250 + 15 + 500


@pytest.mark.only("sqlite")
def test_cache_writes_for_an_hour(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(1, write=900, one_hour=600))
    # 300 for minutes, 600 for an hour.
    assert cost_of(claude) == 15 + 25 + 300 * 25 // 4 + 600 * 10


def test_fast_mode(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("quick", id="msg_1", used=usage(1, speed="fast", read=100))
    log.answer("steady", id="msg_2", used=usage(1, read=100))
    assert cost_of(claude) == 3 * (15 + 25 + 50)


def test_web_searches_of_the_server(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("look it up")
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    log.answer(search, "found", "it", id="msg_1", used=usage(9, searches=3))
    # A cent for each search, in fast mode too.
    assert cost_of(claude) == 15 + 9 * 25 + 3 * 10_000


@pytest.mark.only("sqlite")
def test_a_torn_line_in_the_middle(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("one", id="msg_1", used=usage(10))
    torn = json.dumps({"type": "assistant", "message": {"id": "msg_2", "usage": usage(999)}})
    log.raw(torn[:60].encode() + b"\n")
    log.answer("three", id="msg_3", used=usage(30))
    assert cost_of(claude) == 2 * 15 + 40 * 25


@pytest.mark.only("sqlite")
def test_the_parents_message_replayed_in_a_subagents_file(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("delegate")
    log.answer(
        "I delegate.", call("Agent", prompt="look"), id="msg_1", request="req_1", used=usage(50)
    )
    agent = claude.subagent(log, "a1")
    agent.answer(
        text("I delegate."), id="msg_1", request="req_other", used=usage(50), stop="tool_use"
    )
    agent.answer("looked", id="msg_2", used=usage(20))
    with collected(claude.write()) as store:
        assert session_amounts(store) == {
            "claude:alpha": Amount(15 + 50 * 25),
            "claude:alpha:a1": Amount(15 + 20 * 25),
        }


def unknown_model(claude: ClaudeHome) -> ClaudeHome:
    log = claude.session()
    log.prompt("hello")
    log.answer("hello", id="msg_1", model="claude-next-9", used=usage(12, input=34))
    log.answer("hello", id="msg_2", used=usage(1))
    return claude


def test_an_unknown_model_is_unpriced_and_said_so(claude: ClaudeHome) -> None:
    with collected(unknown_model(claude).write()) as store:
        report = cost_report(store, CostFilter(by="model"))
        assert report.unpriced == [{"model": "claude-next-9", "tokens": 46}]
        assert report.totals.microdollars == 15 + 25
        unpriced = {row.key: row.tally.amount for row in report.rows}["claude-next-9"]
        assert (unpriced, shown(unpriced)) == (Amount(0, 46), "unpriced")
        assert shown(session_amounts(store)["claude:alpha"]) == "$0.000040 + unpriced"


@pytest.mark.only("sqlite")
def test_a_price_of_ones_own_prices_an_unknown_model(claude: ClaudeHome) -> None:
    with collected(unknown_model(claude).write()) as store:
        store.own_prices = lambda: {"claude-next-*": OwnPrice(input=2.0, output=10.0)}
        report = cost_report(store, CostFilter(by="model"))
        assert report.unpriced == []
        assert report.totals.microdollars == 40 + 34 * 2 + 12 * 10
        assert report.prices["own"] == ["claude-next-*"]


@pytest.mark.only("sqlite")
def test_what_the_program_writes_itself_costs_nothing(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.api_failure()
    log.answer("No response requested.", model="<synthetic>", used=usage(99), id="msg_s")
    log.answer("hello", id="msg_1", used=usage(1))
    with collected(claude.write()) as store:
        assert spent(store) == 40
        assert cost_report(store, CostFilter()).unpriced == []


@pytest.mark.only("sqlite")
def test_fast_mode_without_a_known_price_is_unpriced(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    result: dict[str, Any] = usage(1, speed="fast")
    log.answer("quick", id="msg_1", model="claude-haiku-4-5-20251001", used=result)
    with collected(claude.write()) as store:
        report = cost_report(store, CostFilter())
        assert report.unpriced == [{"model": "claude-haiku-4-5-20251001 (fast)", "tokens": 4}]
