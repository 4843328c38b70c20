"""Where a turn ends, what was tried again, and what only looks like it."""

import pytest

from session_memory.core.schema import Session, SessionEvent
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, thinking
from session_memory.testing.collecting import collect, collected, events_of

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    log = claude.session()
    log.prompt("make it work")
    return log


def events(claude: ClaudeHome) -> list[SessionEvent]:
    with collected(claude.write()) as store:
        return events_of(store, "claude:alpha")


def session(claude: ClaudeHome) -> Session:
    with collected(claude.write()) as store:
        return store.sessions.every()[0]


def completions(claude: ClaudeHome) -> list[tuple[str, str]]:
    return [(e.kind, e.summary) for e in events(claude) if e.is_a("completion")]


# ------------------------------------------------------------ completion


def test_the_last_answer_of_a_turn_completes_it(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer("I look.", call("Bash", command="ls"))
    log.result("a.py")
    log.answer(thinking("so"), "That is all.")
    log.prompt("and now?")
    log.answer("Nothing more.")
    assert completions(claude) == [
        ("assistant_msg", "That is all."),
        ("assistant_msg", "Nothing more."),
    ]


def test_where_the_agent_records_the_end_of_a_turn_only_that_completes_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer("That is all.")
    log.turn_ended(1500)
    log.prompt("and now?")
    log.answer("Nothing more.")
    log.turn_ended(500)
    assert completions(claude) == [("completion", "turn ended"), ("completion", "turn ended")]
    assert session(claude).cost.wall_clock_s == 2.0


def test_a_turn_is_completed_once_even_when_the_answer_comes_in_pieces(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer("first half,", "second half")
    assert completions(claude) == [("assistant_msg", "second half")]


def test_versions_that_log_no_stop_reason_complete_with_the_last_text(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer("I look.", call("Bash", command="ls"), stop=None)
    log.result("a.py")
    log.answer("That is all.", stop=None)
    assert completions(claude) == [("assistant_msg", "That is all.")]


@pytest.mark.parametrize("end", ["interrupted", "failed", "cut short", "still working"])
def test_a_turn_that_was_not_finished_is_not_completed(
    claude: ClaudeHome, log: ClaudeLog, end: str
) -> None:
    match end:
        case "interrupted":
            log.abort("I am going to")
            log.interrupt()
        case "failed":
            log.api_failure()
        case "cut short":
            log.answer("so much to say", stop="max_tokens")
        case _:
            log.answer("I look.", call("Bash", command="ls"))
    assert completions(claude) == []


def test_a_placeholder_after_the_answer_does_not_undo_its_completion(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer("That is all.")
    log.answer("No response requested.", model="<synthetic>")
    assert completions(claude) == [("assistant_msg", "That is all.")]


def test_a_sidechain_and_its_session_complete_their_own_turns(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Task", prompt="look"))
    lane = log.sidechain()
    lane.prompt("look")
    lane.answer("looked")
    log.result("looked")
    log.answer("That is all.")
    assert completions(claude) == [("assistant_msg", "looked"), ("assistant_msg", "That is all.")]


def test_a_gap_of_half_an_hour_is_not_working_time(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer("done")
    log.clock.tick(31 * 60 * 1000)
    log.prompt("back again")
    log.answer("done")
    assert session(claude).cost.wall_clock_s == 2.0


def test_a_turn_whose_duration_was_not_logged_counts_by_its_records(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer("That is all.")
    log.turn_ended(1500)
    log.clock.tick(60_000)
    log.prompt("and now?")
    log.run("make all", "done")
    log.answer("Nothing more.")
    log.clock.tick(60_000)
    log.prompt("thanks")
    log.answer("Gladly.")
    spent = session(claude).cost.wall_clock_s
    assert 1.5 < spent < 15


# ------------------------------------------------------------ retries


def retried(claude: ClaudeHome) -> list[str]:
    return [event.summary for event in events(claude) if event.is_a("retry")]


def test_the_same_call_after_its_failure_is_a_retry(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("make", "no rule", exit_code=2)
    log.run("make", "no rule", exit_code=2)
    log.run("make", "built")
    retries = [event for event in events(claude) if event.is_a("retry")]
    assert [(event.kind, event.marks) for event in retries] == [("retry", ("tool_call",))] * 2
    assert session(claude).cost.retries == 2


def test_after_a_success_the_same_call_is_no_retry(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("make", "no rule", exit_code=2)
    log.run("make", "built")
    log.run("make", "built")
    assert retried(claude) == ["make"]


def test_another_call_is_no_retry(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("make", "no rule", exit_code=2)
    log.run("make -j2", "no rule", exit_code=2)
    assert retried(claude) == []


def test_blanks_descriptions_and_a_trailing_tail_do_not_make_another_call(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="make  all", description="Build", timeout=1000))
    log.result("Exit code 2", is_error=True)
    log.answer(call("Bash", command="make all | tail -n 20", description="Build again"))
    log.result("Exit code 2", is_error=True)
    assert len(retried(claude)) == 1


def test_tests_run_again_without_an_edit_are_a_retry(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("pytest -q", "1 failed", exit_code=1)
    log.run("pytest -q", "1 failed", exit_code=1)
    [again] = [event for event in events(claude) if event.is_a("retry")]
    assert (again.kind, again.marks) == ("retry", ("test_run", "tool_call"))


def test_tests_run_again_after_an_edit_verify_it(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("pytest -q", "1 failed", exit_code=1)
    log.edit("a.py")
    log.run("pytest -q", "1 passed")
    assert retried(claude) == []


def test_an_edit_that_failed_or_was_refused_verifies_nothing(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("pytest -q", "1 failed", exit_code=1)
    log.answer(call("Edit", file_path="a.py", old_string="x", new_string="y"))
    log.result("<tool_use_error>String to replace not found.</tool_use_error>", is_error=True)
    log.run("pytest -q", "1 failed", exit_code=1)
    assert retried(claude) == ["pytest -q"]


def test_a_failure_that_only_the_text_shows_makes_the_next_run_a_retry(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("pytest -q | tail -3", "2 failed, 3 passed in 0.1s")
    log.run("pytest -q | tail -3", "5 passed in 0.1s")
    results = [event for event in events(claude) if event.role == "tool"]
    assert [result.is_error for result in results] == [True, False]
    assert len(retried(claude)) == 1


def test_a_retry_is_seen_over_the_borders_of_reading(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("make", "no rule", exit_code=2)
    with collected(claude.write()) as store:
        log.run("make", "built")
        collect(store, claude.write())
        found = events_of(store, "claude:alpha")
    assert [event.kind for event in found if event.role == "assistant"] == ["tool_call", "retry"]


def test_retries_of_the_api_are_errors_marked_as_retries(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.api_error(1)
    log.api_error(2)
    log.answer("here I am")
    errors = [event for event in events(claude) if event.kind == "error"]
    assert [(event.marks, event.role) for event in errors] == [(("retry",), "system")] * 2
    assert "529" in errors[0].summary
    assert session(claude).cost.retries == 2


def test_a_failure_of_the_api_is_an_error_of_no_model(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.api_failure("API Error: 529 Overloaded")
    failure = events(claude)[-1]
    assert (failure.kind, failure.role, failure.model) == ("error", "assistant", None)
    assert session(claude).model is None


# ------------------------------------------------------------ edits, tests and their results


def test_edits_name_the_file_they_change(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.edit("/w/a.py")
    log.answer(call("Write", file_path="/w/b.py", content="x"))
    log.result()
    log.answer(call("NotebookEdit", notebook_path="/w/c.ipynb", new_source="x"))
    log.result()
    log.run("sed -i s/a/b/ d.txt")
    edits = [event for event in events(claude) if event.is_a("edit")]
    assert [(e.kind, e.path) for e in edits] == [
        ("edit", "/w/a.py"),
        ("edit", "/w/b.py"),
        ("edit", "/w/c.ipynb"),
        ("edit", "d.txt"),
    ]


def test_a_result_carries_its_calls_tool_time_and_exit_code(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("ls", "a.py")
    log.run("false", "", exit_code=3)
    log.answer(call("Read", file_path="a.py"))
    log.result("contents")
    results = [event for event in events(claude) if event.role == "tool"]
    assert [(e.tool, e.exit_code, e.duration_ms) for e in results] == [
        ("Bash", 0, 1000),
        ("Bash", 3, 1000),
        ("Read", None, 1000),
    ]


def test_calls_and_results_pair_by_their_id_also_when_they_run_side_by_side(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(
        call("Read", "one", file_path="a"),
        call("Bash", "two", command="ls"),
        call("Bash", "three", command="pytest -q"),
    )
    log.result("1 failed", call_id="three")
    log.result("contents", call_id="one")
    log.result("a", call_id="two")
    found = events(claude)
    assert [(e.call_id, e.tool, e.is_error) for e in found if e.role == "tool"] == [
        ("three", "Bash", True),
        ("one", "Read", False),
        ("two", "Bash", False),
    ]
