"""What the lines of a Grok log mean, kind by kind."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from session_memory.adapters.base import CallOutcome, ChildLink, Cursor, Record, SourceRef
from session_memory.adapters.grok import AGENT as grok
from session_memory.adapters.grok.lines import text_of_bytes
from session_memory.testing.adapters import BytesSource
from session_memory.testing.grok import MODEL, GrokHome, GrokLog, bash, both, used


@pytest.fixture
def log(tmp_path: Path) -> GrokLog:
    return GrokHome(tmp_path).session("alpha")


def read(log: GrokLog) -> list[Record]:
    home_path = (log.place / "updates.jsonl").as_posix()
    ref = SourceRef(Path("updates.jsonl"), home_path=home_path, session=log.session)
    return [record for _, record in grok.read(BytesSource(ref, log.data), Cursor())]


def kinds(log: GrokLog) -> list[tuple[str, ...]]:
    return [(event.kind, *event.marks) for record in read(log) for event in record.events]


# ---------------------------------------------------------------- messages


def test_a_call_without_an_id_or_with_that_of_an_answered_one_is_shown(log: GrokLog) -> None:
    log.prompt("go on")
    log.run("ls", "a.py")
    for call in ({"toolCallId": log.call_id}, {"toolCallId": ""}, {}):
        log.line("tool_call", title="bash", rawInput={"command": "rm -rf backups"}, **call)
    log.line("tool_call_update", status="completed", rawOutput={"output_for_prompt": "all gone"})
    log.line("tool_call", toolCallId="open", title="bash", rawInput={"command": "ls"})
    log.line("tool_call", toolCallId="open", title="bash", rawInput={"command": "rm -rf backups"})
    shown = [event.body for record in read(log) for event in record.events]
    assert sum("rm -rf backups" in (body or "") for body in shown) == 4
    assert sum("all gone" in (body or "") for body in shown) == 1


def test_chunks_of_one_message_are_one_event(log: GrokLog) -> None:
    log.prompt("hello")
    log.say("Good mor")
    log.say("ning.")
    first, second = read(log)[1:]
    assert [event.summary for event in first.events] == ["Good mor"]
    assert (second.bookkeeping, second.continues, second.text) == (
        "agent_message_chunk",
        True,
        "ning.",
    )


def test_a_thought_between_two_texts_separates_them(log: GrokLog) -> None:
    log.prompt("hello")
    log.say("One.")
    log.think("Two?")
    log.say("Two.")
    assert kinds(log) == [("user_msg",), ("assistant_msg",), ("thinking",), ("assistant_msg",)]


def test_a_prompt_of_several_blocks_is_one_prompt(log: GrokLog) -> None:
    log.prompt("look at this")
    log.prompt_index -= 1
    image = {"type": "image", "data": "…"}
    log.line("user_message_chunk", meta={"promptIndex": 0}, content=image)
    log.line("session_status", own=True)
    log.line("user_message_chunk", meta={"promptIndex": 0}, content=image)
    assert [e.is_prompt for record in read(log) for e in record.events] == [True]


def test_two_prompts_in_a_row_are_two(log: GrokLog) -> None:
    log.prompt("wait")
    log.prompt("no, do it")
    assert kinds(log) == [("user_msg",), ("user_msg",)]


def test_words_that_reach_a_working_model_are_an_intervention_without_their_frame(
    log: GrokLog,
) -> None:
    log.prompt("write a poem")
    log.say("Roses")
    log.interject("about cats")
    event = read(log)[-1].events[0]
    assert (event.kind, event.marks, event.text) == (
        "human_intervention",
        ("user_msg",),
        "about cats",
    )


def test_what_is_shown_of_a_prompt_is_what_a_person_typed(log: GrokLog) -> None:
    shown = {"type": "text", "text": "(a skill's text)", "_meta": {"displayText": "/skill"}}
    log.line("user_message_chunk", meta={"promptIndex": 0}, content=shown)
    assert read(log)[0].events[0].text == "/skill"


def test_a_command_that_a_person_typed_is_a_prompt_and_no_call_of_the_models(log: GrokLog) -> None:
    log.prompt("hello")
    log.turn_ended()
    typed = {"type": "text", "text": "exit 3", "_meta": {"bash_command": "exit 3"}}
    log.line("user_message_chunk", meta={"modelId": MODEL}, content=typed)
    command = {"toolCallId": "bash-mode-1", "title": "Execute `exit 3`"}
    log.line("tool_call", status="in_progress", rawInput={"command": "exit 3"}, **command)
    log.result("", call_id="bash-mode-1", raw=bash("exit 3", "", 3))
    prompt, call, result = [record.events[0] for record in read(log)[-3:]]
    assert (prompt.kind, prompt.text) == ("user_msg", "! exit 3")
    assert (call.kind, result.kind, result.exit_code) == ("lifecycle", "lifecycle", 3)


@pytest.mark.parametrize(
    "write", [GrokLog.local_command, lambda log, text: log.prompt(text, hidden=True)]
)
def test_what_the_program_says_to_itself_is_no_prompt(
    log: GrokLog, write: Callable[[GrokLog, str], str]
) -> None:
    write(log, "/compact")
    event = read(log)[0].events[0]
    assert (event.kind, event.role, event.is_prompt) == ("lifecycle", "user", False)


def test_logs_without_marks_have_a_prompt_wherever_a_user_speaks(log: GrokLog) -> None:
    for text in ("one", "two"):
        log.line("user_message_chunk", content={"type": "text", "text": text})
        log.say("yes")
    assert [e.is_prompt for record in read(log) for e in record.events] == [True, False] * 2


def test_a_reminder_of_the_program_is_no_prompt_where_nothing_marks_it(log: GrokLog) -> None:
    for text in ("<system-reminder>\nthe date\n</system-reminder>", "two"):
        log.line("user_message_chunk", content={"type": "text", "text": text})
        log.say("yes")
    assert [e.is_prompt for record in read(log) for e in record.events] == [
        False,
        False,
        True,
        False,
    ]


def test_lines_without_their_envelope_are_read_too(log: GrokLog) -> None:
    log.prompt("hello")
    log.lines = [line["params"] for line in log.lines]
    assert kinds(log) == [("user_msg",)]


def test_an_id_given_twice_is_two_records(log: GrokLog) -> None:
    """Resumed, the program counts its events from the beginning again."""
    log.prompt("one")
    log._made = 0
    log.prompt("two")
    first, second = read(log)
    assert first.native_id != second.native_id


def test_the_directory_says_where_the_session_worked(log: GrokLog) -> None:
    log.prompt("hello")
    assert [record.cwd for record in read(log)] == ["/home/mira/code/app"]


# ---------------------------------------------------------------- calls


def test_a_call_is_what_its_tool_is(log: GrokLog) -> None:
    log.run("pytest -q", "1 passed")
    log.edit("/a.py")
    log.call("patchwork", kind="edit", path="/b.py")
    log.call("read_file", target_file="/c.py")
    log.run("sed -i s/a/b/ d.py")
    calls = [e for record in read(log) for e in record.events if e.role == "assistant"]
    assert [(e.kind, e.path, e.is_shell) for e in calls] == [
        ("test_run", None, True),
        ("edit", "/a.py", False),
        ("edit", "/b.py", False),
        ("tool_call", "/c.py", False),
        ("edit", "d.py", True),
    ]


def test_only_the_last_word_on_a_call_is_its_result(log: GrokLog) -> None:
    log.call("read_file", target_file="a.py")
    log.result("reading", status="in_progress")
    log.result("text", status="completed")
    log.result("text", status="completed")
    results = [e for record in read(log) for e in record.events if e.role == "tool"]
    assert [(e.kind, e.text) for e in results] == [("tool_result", "text")]


def test_a_call_announced_twice_is_one(log: GrokLog) -> None:
    log.call("read_file", target_file="a.py")
    log.lines.append(log.lines[0])
    assert kinds(log) == [("tool_call",)]


def test_an_exit_status_makes_a_completed_command_an_error(log: GrokLog) -> None:
    log.run("make", "no rule", exit_code=2)
    event = read(log)[-1].events[0]
    assert (event.kind, event.marks, event.exit_code) == ("error", ("tool_result",), 2)
    assert event.text == "no rule"


def test_output_given_as_byte_values_alone_is_read(log: GrokLog) -> None:
    log.call("run_terminal_command", command="ls")
    raw = {"type": "Bash", "output": list("größer\n".encode()), "exit_code": 0}
    log.line("tool_call_update", toolCallId=log.call_id, status="completed", rawOutput=raw)
    assert read(log)[-1].events[0].text == "größer\n"


def test_of_long_byte_values_the_beginning_and_the_end_are_read() -> None:
    whole = b"begin" + b"." * 100_000 + b"end"
    text = text_of_bytes(json.dumps(list(whole)).encode(), 1000)  # type: ignore[arg-type]
    assert text.startswith("begin...") and text.endswith("...end")
    assert len(text) <= 2100


def test_a_result_without_text_is_told_by_its_own_account(log: GrokLog) -> None:
    log.call("list_dir", target_directory="/")
    raw = {"type": "ListDir", "NotFound": {"reasons": ["no such directory"]}}
    log.line("tool_call_update", toolCallId=log.call_id, status="failed", rawOutput=raw)
    event = read(log)[-1].events[0]
    assert (event.kind, event.summary) == ("error", "no such directory")


def test_of_an_account_the_output_is_told_and_not_its_name(log: GrokLog) -> None:
    log.call("get_command_or_subagent_output", ids=["t1"])
    raw = {"type": "TaskOutput", "Result": {"task_id": "t1", "output": "all done"}}
    log.line("tool_call_update", toolCallId=log.call_id, status="completed", rawOutput=raw)
    assert read(log)[-1].events[0].text == "all done"


def test_a_search_that_found_nothing_has_not_failed(log: GrokLog) -> None:
    log.call("grep", pattern="x")
    log.result("found 0 matches", raw={"type": "GrepSearch", "exit_code": 1})
    event = read(log)[-1].events[0]
    assert (event.kind, event.exit_code) == ("tool_result", None)


def test_a_persons_refusal_is_an_intervention_and_a_rules_is_not(log: GrokLog) -> None:
    log.call("write", file_path="a.py")
    log.reject("write")
    log.call("write", file_path="a.py")
    log.result("Tool `write` was not executed: denied by policy", status="failed")
    results = [e for record in read(log) for e in record.events if e.role == "tool"]
    assert [(e.kind, *e.marks) for e in results] == [
        ("error", "tool_result", "human_intervention"),
        ("error", "tool_result"),
    ]


def test_an_answer_to_a_question_is_a_decision(log: GrokLog) -> None:
    log.call("ask_user_question", question="Tabs?")
    log.result("spaces")
    assert kinds(log)[-1] == ("tool_result", "decision")


def in_background(log: GrokLog, **ended: object) -> list[Record]:
    log.call("run_terminal_command", command="make all")
    log.line("task_backgrounded", own=True, tool_call_id=log.call_id, task_id="t1", command="make")
    log.result("", status=None, raw=bash("make all", "", signal="backgrounded"))
    task = {"task_id": "t1", "command": "make all", **ended}
    log.line("task_completed", own=True, task_snapshot=task)
    return read(log)[-2:]


def test_a_command_sent_to_the_background_ends_later(log: GrokLog) -> None:
    started, ended = in_background(log, exit_code=2)
    event = started.events[0]
    assert (event.kind, event.is_shell, event.exit_code) == ("tool_result", False, None)
    assert (ended.events[0].kind, ended.events[0].exit_code) == ("lifecycle", 2)
    assert ended.outcomes == [CallOutcome(log.call_id, is_error=True, exit_code=2)]


def test_a_command_that_outlived_its_turn_is_not_aborted(log: GrokLog) -> None:
    """A person's next message moves it into the background and cancels the turn."""
    log.prompt("wait")
    log.call("run_terminal_command", command="make all")
    log.line("task_backgrounded", own=True, tool_call_id=log.call_id, task_id="t1", command="make")
    log.turn_ended(stop="cancelled")
    log.line("task_completed", own=True, task_snapshot={"task_id": "t1", "exit_code": 0})
    cancelled, ended = read(log)[-2:]
    assert [event.kind for event in cancelled.events] == ["completion"]
    assert [(e.kind, e.call_id) for e in ended.events] == [
        ("lifecycle", None),
        ("tool_result", log.call_id),
    ]


def test_a_command_that_was_stopped_on_purpose_has_not_failed(log: GrokLog) -> None:
    _, ended = in_background(log, exit_code=137, explicitly_killed=True)
    assert ended.outcomes == [CallOutcome(log.call_id, is_error=None, exit_code=137)]


# ---------------------------------------------------------------- turns


def test_a_turn_gives_its_usage_in_disjoint_buckets(log: GrokLog) -> None:
    log.prompt("hello")
    log.turn_ended(used(1000, 50, cached=600, written=100, reasoning=20))
    usage = read(log)[-1].usage
    assert usage is not None
    assert (usage.usage_id, usage.model, usage.includes_subagents) == (log.turn, MODEL, True)
    buckets = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    assert (*buckets, usage.output_tokens, usage.reasoning_tokens) == (300, 600, 100, 50, 20)


def test_a_turn_of_two_models_gives_two_usages(log: GrokLog) -> None:
    log.prompt("hello")
    log.turn_ended(used(100, 5, more={"grok-mini": {"inputTokens": 7, "outputTokens": 1}}))
    record = read(log)[-1]
    assert record.usage is not None
    all_of_it = [record.usage, *record.more_usage]
    assert [(u.model, u.input_tokens, u.output_tokens) for u in all_of_it] == [
        (MODEL, 100, 5),
        ("grok-mini", 7, 1),
    ]
    assert len({usage.usage_id for usage in all_of_it}) == 2


def test_a_turns_name_that_others_may_have_is_made_its_own(log: GrokLog) -> None:
    log.prompt("hello")
    log.turn = "notifications-1"
    log.turn_ended(used(100, 5))
    usage = read(log)[-1].usage
    assert usage is not None and usage.usage_id == "alpha/notifications-1"


@pytest.mark.parametrize("absurd", [-5, 1 << 50, 1 << 70])
def test_absurd_figures_count_nothing(log: GrokLog, absurd: int) -> None:
    log.prompt("hello")
    log.turn_ended({"modelUsage": {MODEL: {"inputTokens": absurd, "outputTokens": 5}}})
    usage = read(log)[-1].usage
    assert usage is None or (usage.input_tokens, usage.output_tokens) in ((0, 5), (0, 0))


@pytest.mark.parametrize("stop", ["cancelled", "interrupted"])
def test_a_turn_that_a_person_ended_aborts_the_calls_that_were_open(
    log: GrokLog, stop: str
) -> None:
    """After an interruption the next run writes the end of the turn."""
    log.prompt("wait")
    log.call("run_terminal_command", command="sleep 99")
    log.turn_ended(stop=stop)
    log.result("too late")
    record, late = read(log)[-2:]
    assert [(e.kind, *e.marks) for e in record.events] == [
        ("completion", "human_intervention"),
        ("error", "tool_result"),
    ]
    assert record.events[0].is_interrupt and record.events[1].call_id == log.call_id
    assert late.bookkeeping == "tool_call_update"


@pytest.mark.parametrize(
    ("by", "marks"),
    [
        ("MidTurnAbort", ("human_intervention",)),
        ("PermissionCancelled", ("human_intervention",)),
        ("mid_turn_abort", ("human_intervention",)),
        ("max_turns_reached", ()),
        ("HookDenied", ()),
    ],
)
def test_a_cancelled_turn_says_whether_a_person_did_it(
    log: GrokLog, by: str, marks: tuple[str, ...]
) -> None:
    log.prompt("work")
    log.turn_ended(stop="cancelled", by=by)
    assert kinds(log)[-1] == ("completion", *marks)


def test_a_turn_that_ends_with_a_refusal_is_one_intervention_and_not_two(log: GrokLog) -> None:
    log.prompt("write")
    log.call("write", file_path="a.py")
    log.reject("write")
    log.turn_ended(stop="cancelled")
    assert kinds(log)[-2:] == [("error", "tool_result", "human_intervention"), ("completion",)]


def test_a_turn_that_the_agent_began_ends_with_the_program_and_by_nobody(log: GrokLog) -> None:
    log.prompt("a task is done", hidden=True)
    log.turn_ended(stop="interrupted")
    assert kinds(log)[-1] == ("completion",)


def test_a_turn_that_failed_is_an_error_with_its_usage(log: GrokLog) -> None:
    log.prompt("hello")
    log.line("retry_state", own=True, type="retrying", attempt=2, reason="529 overloaded")
    log.line("retry_state", own=True, type="exhausted", attempts=3, reason="529 overloaded")
    log.turn_ended(used(10, 1), stop="error", agent_result="529 overloaded")
    assert kinds(log)[1:] == [("error", "retry"), ("error",), ("completion", "error")]
    record = read(log)[-1]
    assert record.usage is not None and record.events[0].is_error


def test_a_turn_names_the_subagents_that_ended_within_it(log: GrokLog) -> None:
    log.prompt("delegate")
    log.spawned("quick", "quick one")
    log.spawned("slow", "slow one")
    log.finished("quick")
    log.turn_ended(both(used(100, 5), used(70, 3)))
    log.prompt("and now?")
    log.finished("slow")
    log.turn_ended(used(10, 1))
    turns = [record.usage for record in read(log) if record.usage is not None]
    # What a subagent used after the turn that started it is in no turn at all.
    assert [usage.subagents for usage in turns] == [("quick",), ()]


def test_a_turn_told_twice_names_its_subagents_twice(log: GrokLog) -> None:
    log.prompt("delegate")
    log.spawned("quick", "quick one")
    log.finished("quick")
    log.turn_ended(used(100, 5))
    log.turn_ended(used(100, 5))
    turns = [record.usage for record in read(log) if record.usage is not None]
    assert [usage.subagents for usage in turns] == [("quick",), ("quick",)]


def test_a_subagent_is_linked_to_the_call_that_started_it(log: GrokLog) -> None:
    log.prompt("delegate")
    log.call("spawn_subagent", description="Look around", prompt="look")
    log.spawned("child", "Look around")
    log.finished("child")
    log.result("done", raw={"type": "SubagentCompleted", "subagent_id": "child"})
    links = [record.link for record in read(log) if record.link is not None]
    assert links == [ChildLink("child", log.call_id)] * 2


def test_a_subagent_in_the_background_is_linked_by_what_its_call_was_told(log: GrokLog) -> None:
    """A subagent's own log does not say which subagents it started."""
    log.prompt("delegate")
    log.call("spawn_subagent", description="Look around", background=True)
    log.result("Subagent started in background.\nsubagent_id: child\ndescription: Look around")
    assert read(log)[-1].link == ChildLink("child", log.call_id)


def test_what_another_tool_says_links_nobody(log: GrokLog) -> None:
    log.prompt("look")
    log.run("cat log", "Subagent started in background.\nsubagent_id: child\n")
    assert [record.link for record in read(log)] == [None] * 4


def test_two_calls_of_one_description_are_told_apart_by_their_results(log: GrokLog) -> None:
    log.prompt("delegate")
    calls = []
    for _ in range(2):
        log.call("spawn_subagent", description="Look around", prompt="look")
        calls.append(log.call_id)
    log.spawned("one", "Look around")
    log.spawned("two", "Look around")
    for child, call_id in (("two", calls[1]), ("one", calls[0])):
        log.result("done", call_id=call_id, raw={"type": "x", "subagent_id": child})
    links = [record.link for record in read(log) if record.link is not None]
    assert links == [ChildLink("two", calls[1]), ChildLink("one", calls[0])]


# ---------------------------------------------------------------- going back, and decisions


def test_going_back_names_the_prompt_it_goes_back_to(log: GrokLog) -> None:
    for text in ("one", "two", "three"):
        log.prompt(text)
        log.turn_ended()
    log.rewind(1)
    record = read(log)[-1]
    assert (record.back_to_prompt, record.events[0].kind) == (1, "human_intervention")


def test_going_back_counts_prompts_and_not_the_agents_turns(log: GrokLog) -> None:
    log.prompt("one")
    log.interject("one and a half")
    log.turn_ended()
    log.prompt("a task is done", hidden=True)
    log.turn_ended()
    log.prompt("two")
    log.turn_ended()
    log.rewind(2)
    log.prompt("two again")
    log.interject("and a half")
    log.turn_ended()
    log.prompt("three")
    log.rewind(3)
    log.rewind(0)
    back = [record.back_to_prompt for record in read(log) if record.back_to_prompt is not None]
    # The agent's turns 0 to 3 are: one, the wake-up, two, three; a person's prompts are others.
    assert back == [2, 4, 0]


def test_a_prompt_after_going_back_is_a_new_one(log: GrokLog) -> None:
    log.prompt("one")
    log.rewind(0)
    log.prompt("one, again")
    assert [e.is_prompt for record in read(log) for e in record.events] == [True, False, True]


def test_a_change_of_model_or_mode_is_a_decision_once(log: GrokLog) -> None:
    log.prompt("hello")
    for model in (MODEL, "grok-mini", "grok-mini"):
        log.line("model_changed", own=True, model_id=model)
    for mode in ("default", "plan", "plan", "default"):
        log.line("current_mode_update", currentModeId=mode)
    log.line("model_auto_switched", own=True, previous_model_id="grok-mini", new_model_id=MODEL)
    assert [kind for kind, *_ in kinds(log)[1:]] == [
        *("lifecycle", "decision", "lifecycle"),
        *("lifecycle", "decision", "lifecycle", "decision"),
        "lifecycle",
    ]


def test_a_mode_that_the_agent_changed_itself_is_no_decision(log: GrokLog) -> None:
    log.prompt("plan it")
    log.call("enter_plan_mode")
    log.line("current_mode_update", currentModeId="plan")
    assert kinds(log)[-1] == ("lifecycle",)


def test_a_title_is_remembered(log: GrokLog) -> None:
    log.line("session_summary_generated", own=True, session_summary="Fix the build")
    assert read(log)[0].facts == {"ai_title": "Fix the build"}
