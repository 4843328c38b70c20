"""Columns of an event that depend on other events: its parent, its duration, its summary."""

from session_memory.core.schema import SessionEvent
from session_memory.testing.claude import MODEL, ClaudeHome, call, text
from session_memory.testing.collecting import collected, events_of


def events(claude: ClaudeHome) -> list[SessionEvent]:
    with collected(claude.write()) as store:
        return events_of(store, "claude:alpha")


def test_the_blocks_of_one_line_follow_each_other(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("look")
    blocks = [text("I look."), {**call("Bash", command="ls"), "id": "toolu_1"}]
    log.line("assistant", message={"role": "assistant", "model": MODEL, "content": blocks})
    log.result("a.py", call_id="toolu_1")
    assert [(event.kind, event.parent_seq) for event in events(claude)] == [
        ("user_msg", None),
        ("assistant_msg", 0),
        ("tool_call", 1),
        ("tool_result", 2),
    ]


def test_a_result_takes_the_time_since_its_call_and_never_less_than_none(
    claude: ClaudeHome,
) -> None:
    log = claude.session()
    log.prompt("look")
    log.answer(call("Bash", command="ls"), timestamp="2026-05-04T10:00:10.000Z")
    log.result("a.py", timestamp="2026-05-04T10:00:12.500Z")
    log.answer(call("Bash", command="ls"), timestamp="2026-05-04T10:00:20.000Z")
    log.result("a.py", timestamp="2026-05-04T10:00:19.000Z")
    assert [e.duration_ms for e in events(claude) if e.kind == "tool_result"] == [2500, 0]


def test_the_result_of_a_test_run_is_summed_up_by_its_line_of_counts(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("run the tests")
    log.run("pytest -q", "..... [100%]\n5 passed in 0.1s")
    log.run("pytest --collect-only", "nothing was said about counts")
    results = [e.summary for e in events(claude) if e.kind == "tool_result"]
    assert results == ["5 passed in 0.1s", "nothing was said about counts"]
