"""Interrupts, refusals, decisions, and words that arrive while the agent works."""

import pytest

from session_memory.core.schema import SessionEvent
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, text
from session_memory.testing.collecting import collected, events_of

# What a line means is decided before anything is stored.
pytestmark = pytest.mark.only("sqlite")


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    log = claude.session()
    log.prompt("make it work")
    return log


def events(claude: ClaudeHome) -> list[SessionEvent]:
    with collected(claude.write()) as store:
        return events_of(store, "claude:alpha")


def kinds(event: SessionEvent) -> set[str]:
    return {event.kind, *event.marks}


def interventions(claude: ClaudeHome) -> list[SessionEvent]:
    return [event for event in events(claude) if event.is_a("human_intervention")]


def test_only_the_first_prompt_after_an_interrupt_intervenes(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    """The second one interrupts nothing, although the agent has not answered yet."""
    log.abort("I am going to")
    log.interrupt()
    log.prompt("no, the other file")
    log.prompt("and be quick")
    summaries = [event.summary for event in interventions(claude) if event.is_a("user_msg")]
    assert summaries == ["no, the other file"]


def test_an_interrupt_is_an_intervention_and_so_are_the_words_after_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.abort("I am going to")
    log.interrupt()
    log.prompt("no, the other file")
    log.answer("sorry")
    log.prompt("thanks")
    first, second = interventions(claude)
    assert (first.kind, first.role, first.native_kind) == (
        "human_intervention",
        "user",
        "user/interrupt",
    )
    assert not first.is_a("user_msg")
    assert (second.kind, second.marks) == ("human_intervention", ("user_msg",))
    assert second.summary == "no, the other file"


def test_stopping_a_running_tool_is_an_error_and_an_intervention(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="sleep 100"))
    log.reject()
    log.interrupt(during_tool=True)
    result, interrupt = interventions(claude)
    assert kinds(result) == {"error", "tool_result", "human_intervention"}
    assert result.is_error and result.tool == "Bash"
    assert interrupt.native_kind == "user/interrupt"


@pytest.mark.parametrize("new", [False, True], ids=["as versions before", "as 2.1.325"])
@pytest.mark.parametrize("words", [None, "use the other API"], ids=["wordless", "with words"])
def test_a_refused_call_is_an_error_and_an_intervention(
    claude: ClaudeHome, log: ClaudeLog, new: bool, words: str | None
) -> None:
    log.answer(call("Write", file_path="a.py", content="x"))
    log.reject(words, new=new)
    [refused] = interventions(claude)
    assert refused.kind == "error" and refused.is_error
    assert kinds(refused) == {"error", "tool_result", "human_intervention"}


@pytest.mark.parametrize("kind", ["permission-rule", "hook", "classifier"])
def test_what_a_rule_denies_is_an_error_and_no_persons_doing(
    claude: ClaudeHome, log: ClaudeLog, kind: str
) -> None:
    log.answer(call("Bash", command="rm -rf /"))
    log.deny(kind)
    denied = events(claude)[-1]
    assert kinds(denied) == {"error", "tool_result"}
    assert denied.is_error


def test_a_denial_that_only_names_a_person_but_came_from_the_configuration_is_no_intervention(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    """So 2.1.325 logs a write without permission when nobody is there to ask."""
    log.answer(call("Write", file_path="a.py", content="x"))
    log.result(
        "Claude requested permissions to write, but you haven't granted it yet.",
        is_error=True,
        toolDenialKind="user-rejected",
        permissionDecision={"decision": "reject", "source": "config"},
    )
    assert interventions(claude) == []


def test_a_call_cancelled_with_its_sibling_is_an_error_and_no_intervention(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Read", file_path="a"), call("Read", file_path="b"))
    log.result("<tool_use_error>Sibling tool call errored</tool_use_error>", is_error=True)
    assert events(claude)[-1].is_error
    assert interventions(claude) == []


def test_a_shell_that_was_cut_off_is_an_error(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer(call("Bash", command="make"))
    log.result("half of it", details={"stdout": "half of it", "interrupted": True})
    assert kinds(events(claude)[-1]) == {"error", "tool_result"}


def test_answers_to_questions_are_decisions_with_question_and_answer(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("AskUserQuestion", questions=[{"question": "Which database?"}]))
    log.result(
        "Your questions have been answered", details={"answers": {"Which database?": "SQLite"}}
    )
    [decision] = [event for event in events(claude) if event.is_a("decision")]
    assert decision.is_a("tool_result") and not decision.is_error
    assert "Which database?" in decision.summary and "SQLite" in decision.summary


def test_an_approved_plan_is_a_decision(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer(call("ExitPlanMode", plan="first this, then that"))
    log.result("User has approved your plan.")
    decision = events(claude)[-1]
    assert kinds(decision) == {"tool_result", "decision"}


def test_a_plan_that_starts_over_in_a_clear_context_is_no_refusal(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    """84 of 110 plans were logged as rejected because the person chose to start afresh."""
    log.answer(call("ExitPlanMode", plan="first this, then that"))
    log.reject()
    assert interventions(claude) == []
    assert events(claude)[-1].is_a("decision")


def test_a_plan_refused_with_words_is_a_decision_and_an_intervention(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("ExitPlanMode", plan="first this, then that"))
    log.reject("not without tests")
    [refused] = interventions(claude)
    assert refused.is_a("decision") and refused.is_error


def test_a_permission_granted_by_a_person_is_a_decision(claude: ClaudeHome, log: ClaudeLog) -> None:
    for source in ("user_temporary", "user_permanent", "config"):
        log.answer(call("Bash", command=f"echo {source}"))
        log.result("done", permissionDecision={"decision": "accept", "source": source})
    decisions = [event.is_a("decision") for event in events(claude) if event.role == "tool"]
    assert decisions == [True, True, False]


def test_a_change_of_mode_is_a_decision_and_its_repetition_is_none(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    for mode in ("default", "default", "plan", "plan", "default"):
        log.permission_mode(mode)
    modes = [event for event in events(claude) if event.native_kind == "permission-mode"]
    assert [event.kind for event in modes] == [
        "lifecycle",
        "lifecycle",
        "decision",
        "lifecycle",
        "decision",
    ]


def test_entering_and_leaving_plan_mode_are_decisions(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.attachment("plan_mode")
    log.attachment("plan_mode_exit")
    assert [event.kind for event in events(claude)[1:]] == ["decision", "decision"]


def test_a_prompt_queued_while_the_agent_works_is_an_intervention_and_a_message(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="make"))
    log.queued("also update the docs")
    log.result("built")
    log.answer("done, docs too")
    [queued] = interventions(claude)
    assert queued.kind == "human_intervention" and queued.marks == ("user_msg",)
    assert queued.summary == "also update the docs"
    assert sum(event.is_a("user_msg") for event in events(claude)) == 2


def test_a_queued_notification_is_nobodys_message(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.queued("a task has ended", origin={"kind": "task-notification"})
    log.queued("reminder", isMeta=True)
    assert interventions(claude) == []
    assert sum(event.is_a("user_msg") for event in events(claude)) == 1


def test_a_prompt_while_a_call_is_open_is_an_intervention(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="make"))
    log.prompt("wait")
    [event] = interventions(claude)
    assert event.summary == "wait" and event.is_a("user_msg")


def test_a_prompt_after_a_finished_turn_is_just_a_prompt(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("make", "built")
    log.answer("done")
    log.prompt("and now the docs")
    assert interventions(claude) == []


def test_a_prompt_command_is_a_message_and_a_local_command_is_none(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.slash_command("review", "src --strict")
    log.local_command("clear")
    log.local_command("model", "Set model to opus")
    said = [event.summary for event in events(claude) if event.is_a("user_msg")]
    assert said == ["make it work", "/review src --strict"]


def test_a_shell_command_typed_by_a_person_is_a_message_and_its_output_is_none(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("<bash-input>git status</bash-input>")
    log.prompt("<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>")
    said = [event.summary for event in events(claude) if event.is_a("user_msg")]
    assert said == ["make it work", "! git status"]


@pytest.mark.parametrize(
    "words",
    [
        "<local-command-stdout>Compacted</local-command-stdout>",
        "<local-command-caveat>Caveat: ignore this</local-command-caveat>",
        "Caveat: The messages below were generated by the user while running local commands.",
        "<system-reminder>The file was changed.</system-reminder>",
        "<ide_opened_file>The user opened a.py in the IDE.</ide_opened_file>",
        "<task-notification><task-id>t1</task-id></task-notification>",
        "Base directory for this skill: /skills/pdf",
        "Stop hook feedback:\nrun the tests",
        "This session is being continued from a previous conversation that ran out of context.",
    ],
    ids=lambda words: words[:24].strip("<"),
)
def test_what_the_program_injects_is_lifecycle_with_the_role_of_the_user(
    claude: ClaudeHome, log: ClaudeLog, words: str
) -> None:
    log.prompt(words)
    injected = events(claude)[-1]
    assert (injected.kind, injected.role) == ("lifecycle", "user")


def test_meta_lines_and_notifications_are_lifecycle(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.meta("Output token limit hit. Resume directly.")
    log.notification("task1")
    assert [(event.kind, event.role) for event in events(claude)[1:]] == [
        ("lifecycle", "user"),
        ("lifecycle", "user"),
    ]


def test_context_glued_before_a_prompt_is_not_part_of_its_words(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("<ide_selection>lines 1 to 3</ide_selection>\nexplain this")
    log.prompt([text("<system-reminder>be kind</system-reminder>"), text("and this")])
    said = [event.summary for event in events(claude) if event.is_a("user_msg")]
    assert said == ["make it work", "explain this", "and this"]


def test_a_pasted_picture_without_words_is_a_message(claude: ClaudeHome, log: ClaudeLog) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    log.prompt([picture])
    log.prompt([picture, text("what is this?")])
    assert sum(event.is_a("user_msg") for event in events(claude)) == 3


def test_turns_are_counted_by_what_people_asked(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer("one")
    log.slash_command("review")
    log.answer("two")
    log.local_command("clear")
    log.meta("nothing")
    log.interrupt()
    log.queued("three")
    with collected(claude.write()) as store:
        assert store.sessions.every()[0].cost.turns == 3
