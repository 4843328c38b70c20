"""Every figure of ``stats``, on sessions small enough to count by hand.

The clock of the builders starts at 10:00:00 and ticks a second with every line.
"""

from pathlib import Path

import pytest

from session_memory.core.time import parse_time
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, thinking, usage
from session_memory.testing.collecting import collect
from session_memory.testing.stores import Stores
from session_memory.views.stats.sections import (
    Band,
    Cache,
    CacheDay,
    ContextStats,
    Day,
    FileStats,
    RepoTests,
    Retried,
    Retries,
    Rows,
    Spread,
    SuiteDay,
    SuiteRuns,
    ToolStats,
    Wait,
)

from .conftest import Ask, report

APP = "/home/mira/code/app"
MINUTE = 60_000


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    return claude.session()


@pytest.mark.only("sqlite")
def test_calls_results_and_failures_are_counted_by_tool(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    for seconds in (1, 2, 3, 10):
        log.answer(call("Bash", command=f"sleep {seconds}"))
        log.clock.tick((seconds - 1) * 1000)
        log.result("slept")
    log.answer(call("Read", file_path="/nowhere"))
    log.result("no such file", is_error=True)
    log.answer(call("Glob", pattern="*"))
    assert ask("tools") == Rows(
        3,
        [
            ToolStats("Bash", 4, 4, 0, 0.0, 4, 2000, 10_000, 10_000),
            ToolStats("Read", 1, 1, 1, 1.0, 1, 1000, 1000, 1000),
            ToolStats("Glob", 1, 0, 0, None, 0, None, None, None),
        ],
    )


@pytest.mark.only("sqlite")
def test_percentiles_are_amounts_that_occurred(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    for seconds in range(1, 101):
        log.answer(call("Bash", command="sleep"))
        log.clock.tick((seconds - 1) * 1000)
        log.result("slept")
    [tool] = ask("tools").rows
    assert (tool.measured, tool.median_ms, tool.p95_ms, tool.max_ms) == (
        *(100, 50_000, 95_000, 100_000),
    )


def test_a_list_is_cut_and_says_how_long_it_was(log: ClaudeLog, ask: Ask) -> None:
    for tool in ("Bash", "Read", "Glob"):
        log.answer(call(tool))
    tools = ask("tools", limit=2)
    assert (tools.total, len(tools.rows)) == (3, 2)
    assert len(ask("tools", limit=0).rows) == 3


def test_test_runs_pass_fail_or_have_no_result(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("make them pass")
    log.run("pytest -q", "1 failed, 3 passed in 0.1s", exit_code=1)
    log.edit(f"{APP}/a.py")
    log.run("pytest -q", "4 passed in 0.1s")
    log.run("pytest -q | tail -1", "1 failed, 3 passed in 0.1s")
    log.run("ls", "a.py")
    log.answer(call("Bash", command="pytest -q"))
    log.reject()
    log.answer(call("Bash", command="pytest -q"))
    assert ask("tests") == SuiteRuns(
        5,
        1,
        2,
        2,
        1 / 3,
        Rows(1, [RepoTests("app", 5, 1, 2, 1 / 3)]),
        [SuiteDay("2026-07-01", 1, 2)],
    )


@pytest.mark.only("sqlite")
def test_a_result_is_of_the_last_call_with_its_id(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("run them twice")
    log.answer(call("Bash", "toolu_same", command="pytest -q"))
    log.answer(call("Bash", "toolu_same", command="pytest -q"))
    log.result("1 passed in 0.1s")
    tests = ask("tests")
    assert (tests.runs, tests.passed, tests.failed, tests.unknown) == (2, 1, 0, 1)


def test_edits_are_counted_by_file_with_those_that_failed(
    claude: ClaudeHome, log: ClaudeLog, ask: Ask
) -> None:
    log.prompt("edit")
    log.edit(f"{APP}/a.py")
    log.edit(f"{APP}/a.py")
    log.answer(call("Edit", file_path=f"{APP}/a.py", old_string="x", new_string="y"))
    log.result("String to replace not found in file.", is_error=True)
    log.edit(f"{APP}/b.py")
    other = claude.session("beta")
    other.prompt("edit")
    other.edit(f"{APP}/b.py")
    last = "2026-07-01T10:00:{}.000Z"
    assert ask("files") == Rows(
        2,
        [
            FileStats("app", f"{APP}/b.py", 2, 0, 2, last.format(11)),
            FileStats("app", f"{APP}/a.py", 2, 1, 1, last.format("06")),
        ],
    )


def test_time_is_split_by_who_was_to_act(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.clock.tick(4000)
    log.answer(thinking("hm"), "I look.", call("Bash", command="ls"))  # 5 s, 1 s, 1 s
    log.clock.tick(9000)
    log.result("a.py")  # 10 s
    log.answer("Done.")  # 1 s
    log.clock.tick(19_000)
    log.prompt("and now?")  # 20 s
    log.answer("Nothing.")  # 1 s
    time = ask("time")
    assert (time.ms, time.away_ms) == (39_000, 0)
    assert time.person == Wait(1, 20_000, 0, 20 / 39)
    assert time.model == Wait(5, 9000, 0, 9 / 39)
    assert time.tools == Wait(1, 10_000, 0, 10 / 39)
    assert time.other == Wait(0, 0, 0, 0.0)


def test_a_wait_is_counted_up_to_half_an_hour(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer("Done.")
    log.clock.tick(8 * 60 * MINUTE - 1000)
    log.prompt("good morning")
    time = ask("time")
    assert time.person == Wait(1, 30 * MINUTE, 450 * MINUTE, 1800 / 1801)
    assert (time.ms, time.away_ms, time.cap_ms) == (30 * MINUTE + 1000, 450 * MINUTE, 30 * MINUTE)


def test_what_a_person_refuses_was_a_wait_for_the_person(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer(call("Bash", command="rm -rf build"))
    log.clock.tick(6000)
    log.reject("use make clean")
    time = ask("time")
    assert (time.person.ms, time.tools.ms) == (7000, 0)


def test_bookkeeping_neither_begins_nor_ends_a_wait(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer("Done.")
    log.clock.tick(4000)
    log.turn_ended()
    log.clock.tick(4000)
    log.prompt("more")
    time = ask("time")
    assert (time.person.ms, time.model.ms, time.ms) == (10_000, 1000, 11_000)


def test_a_clock_that_goes_back_counts_no_moment_twice(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer("One.")
    log.clock.tick(-10_000)
    log.answer("Two.")
    log.clock.tick(19_000)
    log.answer("Three.")
    assert ask("time").model.ms == 12_000


@pytest.mark.only("sqlite")
def test_contexts_grow_and_fall(claude: ClaudeHome, log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    for sent in (100, 300, 600, 500, 200):
        log.answer("Well.", used=usage(1, input=10, read=sent - 30, write=20))
    other = claude.session("beta")
    other.prompt("go")
    other.answer("Well.", used=usage(1, input=500))
    assert ask("context") == ContextStats(
        bands=[
            Band(1, 1, Spread(2, 100, 500, 500)),
            Band(2, 5, Spread(4, 300, 600, 600)),
        ],
        peaks=Spread(2, 500, 600, 600),
        growth=Spread(2, 200, 300, 300),
        drops=1,
    )


@pytest.mark.only("sqlite")
def test_the_cache_is_hit_by_what_was_read_of_what_was_sent(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer("One.", used=usage(5, input=10, read=0, write=90))
    log.clock.tick(24 * 60 * MINUTE)
    log.answer("Two.", used=usage(5, input=20, read=80, write=0))
    days = [CacheDay("2026-07-01", 0, 100, 0.0), CacheDay("2026-07-02", 80, 100, 0.8)]
    assert ask("cache") == Cache(80, 90, 30, 200, 0.4, days)


@pytest.mark.only("sqlite")
def test_models_have_their_own_responses(claude: ClaudeHome, log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer("One.", model="claude-opus-4-8", used=usage(7, input=3, read=1))
    log.answer("Two.", model="claude-opus-4-8", used=usage(8, input=3))
    log.answer("Three.", model="claude-haiku-5", used=usage(9, input=4, write=6, one_hour=2))
    found = {row.model: row for row in ask("models").rows}
    opus, haiku = found["claude-opus-4-8"], found["claude-haiku-5"]
    assert (opus.responses, opus.sessions, opus.output_tokens, opus.input_tokens) == (2, 1, 15, 6)
    assert (haiku.cache_write_tokens, haiku.cache_write_1h_tokens, haiku.hit_rate) == (6, 2, 0.0)


def test_a_response_is_filtered_by_its_own_model_and_the_rest_by_its_sessions(
    claude: ClaudeHome, log: ClaudeLog, ask: Ask
) -> None:
    log.prompt("go")
    log.answer("One.", call("Bash", command="ls"), model="claude-opus-4-8")
    log.result()
    log.answer("Two.", model="claude-haiku-5")
    assert [row.model for row in ask("models", model="OPUS").rows] == ["claude-opus-4-8"]
    assert ask("tools", model="opus").rows == []
    assert [row.tool for row in ask("tools", model="haiku").rows] == ["Bash"]


def test_retries_of_calls_and_of_requests_are_told_apart(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.run("make", "no rule", exit_code=2)
    log.run("make", "no rule", exit_code=2)
    log.run("make", "built")
    log.api_error()
    log.api_error(2)
    log.answer("Done.")
    assert ask("retries") == Retries(4, 2, 2, 1, Rows(1, [Retried("Bash", 2, 1)]))
    summary = ask("summary")
    assert (summary.retries, summary.failed, summary.api_errors) == (4, 2, 2)


def test_days_hold_what_happened_on_them(claude: ClaudeHome, log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.run("false", exit_code=1)
    log.answer("Done.")
    log.clock.tick(24 * 60 * MINUTE)
    log.prompt("more")
    other = claude.session("beta")
    other.prompt("hello")
    other.answer("Hello.")
    activity = ask("activity")
    assert activity.days == [
        Day("2026-07-01", 1, 1, 1, 1, 1, 4),
        Day("2026-07-02", 1, 2, 1, 0, 0, 3),
    ]
    assert activity.weekdays[2][10] == 4  # A Wednesday.
    assert activity.weekdays[3][10] == 3
    assert sum(map(sum, activity.weekdays)) == 7


def test_the_summary_adds_it_all_up(claude: ClaudeHome, log: ClaudeLog, ask: Ask) -> None:
    log.custom_title("without a time")
    log.prompt("go")
    log.answer(call("Task", prompt="look"), used=usage(5, input=1, read=9))
    child = claude.subagent(log, "a1")
    child.prompt("look")
    child.answer("Seen.", used=usage(6, input=10))
    log.result("Seen.")
    log.answer("Done.", used=usage(7, input=0, write=20))
    summary = ask("summary")
    assert (summary.sessions, summary.subagents, summary.events, summary.undated) == (2, 1, 7, 1)
    assert (summary.turns, summary.completed, summary.calls, summary.failed) == (1, 1, 1, 0)
    assert (summary.responses, summary.input_tokens, summary.output_tokens) == (3, 11, 18)
    assert (summary.active_days, summary.first_day, summary.last_day) == (
        1,
        "2026-07-01",
        "2026-07-01",
    )
    assert summary.hit_rate == 9 / 40


def test_agents_and_repositories_have_their_own_figures(claude: ClaudeHome, ask: Ask) -> None:
    log = claude.session()
    log.prompt("go")
    log.run("pytest", "1 passed in 0.1s")
    log.answer("Done.")
    claude.cwd = "/home/mira/code/shop"
    other = claude.session("beta")
    other.prompt("go")
    other.answer("Done.", used=usage(100))
    app, shop = ask("repos").rows
    assert (app.name, app.sessions, app.calls, app.test_runs, app.pass_rate) == (
        "app",
        1,
        1,
        1,
        1.0,
    )
    assert (shop.name, shop.calls, shop.pass_rate, shop.output_tokens) == ("shop", 0, None, 100)
    assert (app.model_ms, app.tools_ms, shop.model_ms) == (2000, 1000, 1000)
    [agent] = ask("agents").rows
    assert (agent.name, agent.sessions, agent.events) == ("claude", 2, app.events + shop.events)


@pytest.mark.only("sqlite")
def test_the_longest_sessions_come_first(claude: ClaudeHome, log: ClaudeLog, ask: Ask) -> None:
    log.prompt("short")
    log.answer("Done.")
    other = claude.session("beta")
    other.prompt("long")
    other.clock.tick(5000)
    other.answer("Done.")
    rows = ask("sessions").rows
    assert [(row.session_uid, row.wall_clock_s, row.turns) for row in rows] == [
        ("claude:beta", 6.0, 1),
        ("claude:alpha", 1.0, 1),
    ]


def test_what_a_fork_inherited_counts_for_its_owner_alone(
    claude: ClaudeHome, log: ClaudeLog, ask: Ask
) -> None:
    log.prompt("go")
    log.run("pytest", "1 passed in 0.1s")
    log.edit(f"{APP}/a.py")
    log.answer("Done.")
    fork = claude.fork(log, "beta")
    fork.prompt("another way")
    fork.answer("Done.")
    assert [(row.tool, row.calls) for row in ask("tools").rows] == [("Bash", 1), ("Edit", 1)]
    assert ask("tests").runs == 1
    assert [row.edits for row in ask("files").rows] == [1]
    assert ask("summary").turns == 2
    assert ask("summary").responses == 4
    assert ask("time").ms == 6000


@pytest.mark.parametrize("name", ["summary", "tools", "time", "context", "files", "sessions"])
def test_an_empty_store_has_figures_too(stores: Stores, name: str) -> None:
    with stores.new() as store:
        assert report(store, [name]).stored == 0


def test_of_the_samples_it_says_what_their_sessions_say(stores: Stores, sample: Path) -> None:
    """The report says of everything what the sessions say one by one."""
    with stores.new() as store:
        collect(store, sample)
        check_sums(store)


def check_sums(store: Store) -> None:
    sessions = store.sessions.every()
    whole = report(store, limit=0).sections
    summary = whole["summary"]
    assert summary.sessions == len(sessions)
    assert summary.turns == sum(one.cost.turns for one in sessions)
    assert summary.retries == sum(one.cost.retries for one in sessions)
    assert summary.output_tokens == sum(one.cost.output_tokens for one in sessions)
    assert summary.events == store.events.count()
    assert summary.calls == sum(row.calls for row in whole["tools"].rows)
    assert summary.retries == whole["retries"].retries
    assert summary.responses == sum(row.responses for row in whole["models"].rows)
    for part in ("agents", "repos"):
        assert sum(row.events for row in whole[part].rows) == summary.events
        assert sum(row.failed for row in whole[part].rows) == summary.failed


def test_what_has_no_time_counts_at_the_start_of_its_session(log: ClaudeLog, ask: Ask) -> None:
    log.prompt("go")
    log.answer(call("Bash", command="pytest"), timestamp=...)
    log.result("1 passed in 0.1s", timestamp=...)
    start = "2026-07-01T10:00:01.000Z"
    period = {"since": parse_time(start), "until": parse_time(start) + 1}
    assert ask("tests", **period).passed == 1
    assert [row.calls for row in ask("tools", **period).rows] == [1]
    assert (ask("summary", **period).events, ask("summary").undated) == (3, 2)
    assert ask("models", **period).rows[0].responses == 1
    assert [day.events for day in ask("activity").days] == [3]
    assert ask("time").ms == 0
