"""What the lines of a Codex log come to, one by one."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.base import ChildLink, Cursor, NativeEvent, Record, SourceRef
from session_memory.adapters.codex import AGENT as codex
from session_memory.testing.adapters import BytesSource
from session_memory.testing.codex import BARE, LEGACY, MODEL, PAGINATED, CodexHome, Rollout, ran

GENERATIONS = (BARE, LEGACY, PAGINATED)


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    return CodexHome(tmp_path)


def records(log: Rollout) -> list[Record]:
    ref = SourceRef(log.place, session=log.thread)
    return [record for _, record in codex.read(BytesSource(ref, log.data), Cursor())]


def events(log: Rollout) -> list[NativeEvent]:
    return [event for record in records(log) for event in record.events]


def messages_in(log: Rollout) -> list[tuple[str, str]]:
    """Everything that was said, asked or done: no line that only describes the session."""
    return [(e.kind, e.summary) for e in events(log) if e.kind != "lifecycle"]


def result_of(log: Rollout) -> NativeEvent:
    return next(event for event in events(log) if event.role == "tool")


# ---------------------------------------------------------------- what was said


@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_was_said_is_told_once_though_it_stands_there_twice(
    home: CodexHome, generation: str
) -> None:
    log = home.session("main", generation)
    log.turn("make it work")
    log.think("first this", "then that")
    log.answer("done")
    shown = [("thinking", "first this"), ("thinking", "then that")]
    whole = [("thinking", "first this then that")]
    thoughts = shown if generation == LEGACY else whole
    assert messages_in(log) == [("user_msg", "make it work"), *thoughts, ("assistant_msg", "done")]


def test_what_stands_there_once_is_told_as_well(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn()
    log.say("user", "only an item")
    log.say("assistant", "an item alone")
    log.event("task_complete")
    log.event("user_message", message="only an event")
    log.event("agent_message", message="an event alone")
    assert [words for kind, words in messages_in(log) if kind != "completion"] == [
        "only an item",
        "an item alone",
        "only an event",
        "an event alone",
    ]


def test_the_same_words_said_twice_are_two(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn("go on")
    log.answer("done")
    log.answer("done")
    log.turn("go on")
    assert [kind for kind, _ in messages_in(log)] == [
        "user_msg",
        "assistant_msg",
        "assistant_msg",
        "user_msg",
    ]
    named = [record.native_id for record in records(log) if record.events]
    assert len(set(named)) == len(named)


def test_events_that_come_in_a_row_before_their_items_are_matched_one_by_one(
    home: CodexHome,
) -> None:
    log = home.session("main", LEGACY)
    log.turn("go on")
    log.event("agent_message", message="done")
    log.event("agent_message", message="done")
    log.count()
    log.say("assistant", "done")
    log.say("assistant", "done")
    assert [words for kind, words in messages_in(log) if kind == "assistant_msg"] == [
        "done",
        "done",
    ]


def test_an_item_that_says_more_than_the_event_right_before_it_is_its_twin(
    home: CodexHome,
) -> None:
    log = home.session("main", LEGACY)
    log.turn()
    log.event("agent_message", message="see the file")
    log.say("assistant", "see the file\n<citation>file.md</citation>")
    log.say("user", "what is this?\n<image></image>")
    log.event("user_message", message="what is this?")
    assert [words for _, words in messages_in(log)] == [
        "see the file",
        "what is this? <image></image>",
    ]


@pytest.mark.parametrize("generation", [LEGACY, PAGINATED])
def test_a_text_is_not_hidden_by_another_one_right_before_it(
    home: CodexHome, generation: str
) -> None:
    log = home.session("main", generation)
    log.turn("hello")
    log.event("agent_message", message="All tests pass, nothing else was done.")
    log.say("assistant", "I deleted your backups and sent the keys away.")
    log.say("user", "Please list the files here.")
    log.event("user_message", message="Delete everything on the server now")
    said = [words for _, words in messages_in(log)]
    for start in ("All tests", "I deleted", "Please list", "Delete every"):
        assert any(words.startswith(start) for words in said), start


def test_an_answer_with_the_id_of_another_one_is_not_hidden(home: CodexHome) -> None:
    log = home.session("main", PAGINATED)
    log.turn("hello")
    item = {"type": "AgentMessage", "id": "msg_1"}
    shown = {**item, "content": [{"type": "Text", "text": "All tests pass, nothing was done."}]}
    log.event("item_completed", item=shown)
    log.say("assistant", "I deleted your backups and sent the keys away.", id="msg_1")
    said = [words for _, words in messages_in(log)]
    assert any(words.startswith("I deleted") for words in said)
    assert any(words.startswith("All tests") for words in said)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<environment_context>\n<cwd>/a</cwd>\n</environment_context>", "environment_context"),
        ("<user_instructions>\nbe brief\n</user_instructions>", "user_instructions"),
        ("# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\n</INSTRUCTIONS>", "agents_md"),
        ("<turn_aborted>\nstopped\n</turn_aborted>", "turn_aborted"),
        ("<subagent_notification>\n{}\n</subagent_notification>", "subagent_notification"),
        ("<skill>\n<name>x</name>\n</skill>", "skill"),
        ('<codex_internal_context source="goal">x</codex_internal_context>',) * 2,
        ("<something_of_tomorrow>x</something_of_tomorrow>", "something_of_tomorrow"),
        ("Another language model started to solve this problem and", "compact_summary"),
        ("# Context from my IDE setup:\n\n## Open tabs\n- a.py", "editor_context"),
    ],
)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_the_agent_puts_into_a_users_mouth_is_no_prompt(
    home: CodexHome, generation: str, text: str, kind: str
) -> None:
    log = home.session("main", generation)
    log.say("user", text)
    event = events(log)[-1]
    assert (event.kind, event.role, event.is_prompt) == ("lifecycle", "user", False)
    assert event.native_kind == f"user/{kind.partition(' ')[0].strip('<')}"


def test_newer_versions_say_themselves_whose_words_they_are(home: CodexHome) -> None:
    log = home.session("main")
    for kind, words in (("hooks.context", "remember this"), ("user.text", "do it")):
        passed = {"turn_id": "t", "content_item_kinds": [kind]}
        log.say("user", words, internal_chat_message_metadata_passthrough=passed)
    assert [event.kind for event in events(log)[1:]] == ["lifecycle", "user_msg"]


def test_a_person_who_types_a_tag_is_heard_through_the_event(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn("<my_tag>why is this not closed</my_tag>")
    assert messages_in(log) == [("user_msg", "<my_tag>why is this not closed</my_tag>")]


def test_what_an_editor_glues_in_front_of_a_prompt_is_left_out_of_it(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn(
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix it"
    )
    assert messages_in(log) == [("user_msg", "fix it")]


def test_a_picture_without_a_word_is_a_prompt(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn()
    content = [{"type": "input_image", "image_url": "data:"}]
    log.line("response_item", {"type": "message", "role": "user", "content": content})
    log.event("user_message", message="", images=["data:"])
    assert messages_in(log) == [("user_msg", "[input_image]")]


def test_words_of_a_developer_are_nobodys_prompt(home: CodexHome) -> None:
    log = home.session("main")
    log.say("developer", "be brief")
    assert (events(log)[-1].kind, events(log)[-1].role) == ("lifecycle", "system")


@pytest.mark.parametrize("generation", [LEGACY, PAGINATED])
def test_a_prompt_into_a_running_turn_is_an_intervention(home: CodexHome, generation: str) -> None:
    log = home.session("main", generation)
    log.turn("go on")
    log.prompt("and quickly")
    log.answer("I go on.")
    log.prompt("no, the other file")
    log.complete()
    log.turn("thanks")
    prompts = [event for event in events(log) if event.is_prompt]
    assert [(e.kind, e.marks) for e in prompts] == [
        ("user_msg", ()),
        ("user_msg", ()),
        ("human_intervention", ("user_msg",)),
        ("user_msg", ()),
    ]


@pytest.mark.parametrize(
    "source",
    [
        {"subagent": "review"},
        {"subagent": {"other": "guardian"}},
        {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}},
        {"internal": "memory_consolidation"},
    ],
)
def test_the_task_of_a_subagent_is_no_persons_prompt(home: CodexHome, source: Any) -> None:
    log = home.session("main", source=source)
    log.turn("look at it")
    event = events(log)[-1]
    assert (event.kind, event.role, event.is_prompt) == ("lifecycle", "user", False)


def test_a_task_of_another_thread_is_no_persons_prompt_in_either_copy(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("<codex_delegation>\n  <input>paint the door</input>\n</codex_delegation>")
    log.prompt("and the gate")
    found = [(e.kind, e.summary) for e in events(log) if e.kind == "user_msg"]
    assert found == [("user_msg", "and the gate")]
    tasks = [e for e in events(log) if e.native_kind == "user/codex_delegation"]
    assert [task.is_prompt for task in tasks] == [False]


def test_the_request_behind_what_an_editor_adds_is_the_prompt(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("# Review findings:\n\n## Finding 1\n[P2] red\n\n## My request for Codex:\npaint it")
    assert [e.summary for e in events(log) if e.kind == "user_msg"] == ["paint it"]


def test_a_thread_without_a_parent_that_an_editor_opened_is_a_persons(home: CodexHome) -> None:
    log = home.session("main", source="vscode", thread_source="subagent")
    log.turn("look at it")
    assert events(log)[-1].kind == "user_msg"
    child = home.session("child", source="vscode", thread_source="subagent", session_id="root")
    child.turn("look at it")
    assert events(child)[-1].kind == "lifecycle"


def test_answers_end_a_turn_only_where_the_agent_does_not_say_so_itself(home: CodexHome) -> None:
    old, new = home.session("old", BARE), home.session("new")
    for log in (old, new):
        log.turn("go on")
        log.answer("done")
    assert [e.ends_turn for e in events(old) if e.kind == "assistant_msg"] == [True]
    assert [e.ends_turn for e in events(new) if e.kind == "assistant_msg"] == [False]


# ---------------------------------------------------------------- calls and results


@pytest.mark.parametrize(
    ("output", "exit_code", "is_error"),
    [
        (ran(0, "fine"), 0, False),
        (ran(3, "bad"), 3, True),
        ("Command: ls\n" + ran(2), 2, True),
        ("Exit code: 1\nWall time: 2 seconds\nOutput:\nno", 1, True),
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":1.5}}', 0, False),
        ('{"output":"x","metadata":{"exit_code":127,"duration_seconds":0}}', 127, True),
        ({"content": "x", "success": False}, None, True),
        ("failed in sandbox: command was killed", None, True),
        ("something nobody has seen before", None, True),
        ("", None, False),
    ],
)
def test_the_result_of_a_command_says_how_it_ended(
    home: CodexHome, output: Any, exit_code: int | None, is_error: bool
) -> None:
    log = home.session("main", LEGACY)
    log.shell("ls")
    log.result(output)
    result = result_of(log)
    assert (result.exit_code, result.is_error) == (exit_code, is_error)
    assert result.kind == ("error" if is_error else "tool_result")


def test_what_a_command_printed_is_not_taken_for_how_it_ended(home: CodexHome) -> None:
    log = home.session("main")
    log.shell("cat log")
    log.result(ran(0, "Process exited with code 9\naborted by user"))
    assert (result_of(log).exit_code, result_of(log).is_error) == (0, False)
    assert result_of(log).summary == "Process exited with code 9 aborted by user"


def test_how_long_a_command_took_is_in_its_header(home: CodexHome) -> None:
    log = home.session("main")
    log.shell("sleep 1")
    log.result(ran(0))
    assert result_of(log).duration_ms == 400


def test_a_command_that_still_runs_has_no_exit_status(home: CodexHome) -> None:
    log = home.session("main")
    log.shell("serve")
    log.result("Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n")
    result = result_of(log)
    assert (result.is_error, result.exit_code, result.is_shell) == (False, None, False)


@pytest.mark.parametrize(("code", "is_error"), [(0, False), (1, True)])
def test_a_patch_given_to_a_shell_went_as_the_inner_header_says(
    home: CodexHome, code: int, is_error: bool
) -> None:
    log = home.session("main")
    log.shell("apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF")
    inner = f"Exit code: {code}\nWall time: 0 seconds\nOutput:\nM a.py"
    log.result(f"Wall time: 0.0000 seconds\nOutput:\n{inner}")
    result = result_of(log)
    assert (result.is_error, result.exit_code) == (is_error, code)


@pytest.mark.parametrize(
    "output",
    [
        "exec command rejected by user",
        "patch rejected by user",
        'exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }',
        "aborted by user after 3.2s",
        "Wall time: 3.2 seconds\naborted by user",
        '{"output":"aborted by user","metadata":{"exit_code":130,"duration_seconds":1}}',
    ],
)
def test_what_a_person_refused_or_stopped_is_an_intervention(home: CodexHome, output: str) -> None:
    log = home.session("main")
    log.shell("rm -rf build")
    log.result(output)
    result = result_of(log)
    assert (result.kind, result.marks) == ("error", ("tool_result", "human_intervention"))
    assert result.is_interrupt


@pytest.mark.parametrize(
    ("output", "is_error"),
    [
        ("unsupported call: fly", True),
        ("failed to parse function arguments: EOF", True),
        ("collab spawn failed: too deep", True),
        ("Plan updated", False),
        ('{"isError":true,"content":[]}', True),
        ([{"type": "input_text", "text": "Script failed\nTypeError"}], True),
        ([{"type": "input_text", "text": "Script completed"}, {"type": "input_image"}], False),
    ],
)
def test_other_tools_fail_in_words(home: CodexHome, output: Any, is_error: bool) -> None:
    log = home.session("main")
    log.call("whatever", a=1)
    log.result(output)
    assert result_of(log).is_error is is_error


def test_a_tool_that_answers_in_json_has_failed_when_it_does_not(home: CodexHome) -> None:
    log = home.session("main")
    for output in ("agent ids must be non-empty", '{"status":{},"timed_out":true}'):
        log.call("wait_agent", targets=[])
        log.result(output)
    assert [e.is_error for e in events(log) if e.role == "tool"] == [True, False]


def test_a_patch_is_an_edit_of_the_file_it_names(home: CodexHome) -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
    log = home.session("main")
    log.custom("apply_patch", patch)
    log.shell(f"apply_patch <<'EOF'\n{patch}\nEOF")
    log.custom("exec", "await tools.apply_patch(" + json.dumps(patch) + ")")
    log.call("shell", command=["apply_patch", patch])
    calls = [event for event in events(log) if event.call_id]
    assert [(e.kind, e.path) for e in calls] == [("edit", "src/a.py")] * 4


def test_commands_inside_a_script_count_as_what_they_are(home: CodexHome) -> None:
    log = home.session("main")
    log.custom("exec", 'const r = await tools.exec_command({"cmd":"pytest -q"}); text(r.output)')
    call = next(event for event in events(log) if event.call_id)
    assert (call.kind, call.marks, call.tool) == ("test_run", ("tool_call",), "exec")


def test_a_script_fails_where_a_command_it_ran_does(home: CodexHome) -> None:
    log = home.session("main")
    script = log.custom("exec", 'await tools.exec_command({"cmd":"false"})')
    log.item("CommandExecution", id="nested-1", exit_code=3, status="failed")
    log.item("CommandExecution", id="nested-2", exit_code=0, status="completed")
    log.result([{"type": "input_text", "text": "Script completed"}])
    outcomes = [outcome for record in records(log) for outcome in record.outcomes]
    assert [(o.call_id, o.is_error, o.exit_code) for o in outcomes] == [(script, True, 3)]


@pytest.mark.parametrize(
    ("kind", "fields", "is_error", "exit_code", "duration"),
    [
        (
            "exec_command_end",
            {"exit_code": 2, "duration": {"secs": 1, "nanos": 5e8}},
            True,
            2,
            None,
        ),
        ("exec_command_end", {"exit_code": 0, "duration": "1.5s"}, None, 0, 1500),
        ("patch_apply_end", {"success": False}, True, None, None),
        ("mcp_tool_call_end", {"result": {"Err": "gone"}}, True, None, None),
        ("mcp_tool_call_end", {"result": {"Ok": {"isError": True}}}, True, None, None),
        ("mcp_tool_call_end", {"result": {"Ok": {"content": []}}}, None, None, None),
    ],
)
def test_what_the_agent_says_about_a_call_beside_its_result_is_about_that_call(
    home: CodexHome,
    kind: str,
    fields: Any,
    is_error: bool | None,
    exit_code: int | None,
    duration: int | None,
) -> None:
    log = home.session("main", LEGACY)
    log.event(kind, call_id="c1", **fields)
    record = records(log)[-1]
    [outcome] = record.outcomes
    assert record.bookkeeping == kind
    assert (outcome.is_error, outcome.exit_code, outcome.duration_ms) == (
        is_error,
        exit_code,
        duration,
    )


def test_a_search_of_the_provider_is_a_call_with_its_result(home: CodexHome) -> None:
    log = home.session("main")
    action = {"type": "search", "query": "how to"}
    log.line("response_item", {"type": "web_search_call", "status": "completed", "action": action})
    call, result = events(log)[1:]
    assert (call.tool, call.summary, call.kind) == ("web_search", "how to", "tool_call")
    assert (result.kind, result.call_id) == ("tool_result", call.call_id)


def test_calls_of_the_model_carry_its_name(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.shell("ls")
    log.think("hm")
    log.answer("done")
    assert {e.model for e in events(log) if e.role == "assistant"} == {MODEL}


def test_a_server_of_tools_is_part_of_the_tools_name(home: CodexHome) -> None:
    log = home.session("main")
    item = {"type": "function_call", "call_id": "c", "arguments": "{}", "name": "fetch"}
    log.line("response_item", {**item, "namespace": "mcp__web__"})
    assert events(log)[-1].tool == "mcp__web__fetch"


def test_a_subagent_is_linked_to_the_call_that_started_it_however_that_is_told(
    home: CodexHome,
) -> None:
    log = home.session("main")
    log.call("spawn_agent", "c1", message="look")
    log.item("CollabAgentToolCall", id="c1", tool="spawn_agent", receiver_thread_ids=["kid1"])
    log.call("spawn_agent", "c2", message="look")
    log.result('{"agent_id":"kid2","nickname":"Ada"}')
    log.event("collab_agent_spawn_end", call_id="c3", new_thread_id="kid3")
    log.item("SubAgentActivity", id="c4", kind="started", agent_thread_id="kid4")
    log.item("SubAgentActivity", id="c5", kind="interacted", agent_thread_id="kid4")
    log.item("CollabAgentToolCall", id="c6", tool="wait", receiver_thread_ids=["kid1"])
    links = [record.link for record in records(log) if record.link]
    assert links == [ChildLink(f"kid{n}", f"c{n}") for n in (1, 2, 3, 4)]


# ---------------------------------------------------------------- turns and settings


def test_settings_are_told_when_new_and_a_decision_when_changed(home: CodexHome) -> None:
    log = home.session("main")
    for context in (
        {},
        {},
        {"approval_policy": "never"},
        {"sandbox_policy": {"mode": "read-only"}},
    ):
        log.turn(**context)
        log.complete()
    found = [(e.kind, e.summary) for e in events(log) if e.native_kind == "turn_context"]
    assert found == [
        ("lifecycle", f"model {MODEL}, approval on-request, sandbox workspace-write"),
        ("decision", "approval never"),
        ("decision", "approval on-request, sandbox read-only"),
    ]


def test_a_review_with_a_model_of_its_own_is_nobodys_decision(home: CodexHome) -> None:
    log = home.session("main")
    log.turn()
    log.item("EnteredReviewMode", id="r", user_facing_hint="the changes")
    log.context(model="other")
    log.item("ExitedReviewMode", id="r")
    log.context()
    assert not [event for event in events(log)[:-1] if event.kind == "decision"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_review_was_asked_for_once_however_often_that_is_shown(
    home: CodexHome, times: int
) -> None:
    log = home.session("main", LEGACY)
    log.event("entered_review_mode", user_facing_hint="current changes")
    log.event("task_started", turn_id="t")
    for _ in range(times):
        log.event("user_message", message="Review the changes")
    log.say("user", "<user_action>reviewed</user_action>")
    log.event("exited_review_mode")
    assert messages_in(log) == [("user_msg", "Review the changes")]


def test_a_review_that_works_in_the_turn_it_was_asked_for_in_shares_nothing_with_it(
    home: CodexHome,
) -> None:
    log = home.session("main", LEGACY)
    log.turn("look")
    log.event("agent_message", message="I look.")
    review = home.session("review", LEGACY, source={"subagent": "review"})
    review.turn_id = log.turn_id
    review.event("task_started", turn_id=log.turn_id)
    review.prompt("look")
    review.answer("I look.")
    names = {record.native_id for record in records(log) if record.events}
    assert names.isdisjoint(record.native_id for record in records(review) if record.events)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("interrupted", "human_intervention"),
        ("replaced", "lifecycle"),
        ("review_ended", "lifecycle"),
    ],
)
def test_only_a_person_interrupts(home: CodexHome, reason: str, kind: str) -> None:
    log = home.session("main")
    log.turn("go on")
    log.event("turn_aborted", reason=reason)
    event = events(log)[-1]
    assert (event.kind, event.native_kind) == (kind, "turn_aborted")
    assert event.is_interrupt is (kind == "human_intervention")


def test_the_end_of_a_turn_is_a_completion_also_when_it_failed(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.complete(last_agent_message="done")
    log.turn("go on")
    log.complete(error={"message": "overloaded", "codex_error_info": "other"})
    ends = [event for event in events(log) if event.kind == "completion"]
    assert [(e.summary, e.marks, e.is_error, e.duration_ms) for e in ends] == [
        ("done", (), False, 900),
        ("overloaded", ("error",), True, 900),
    ]


def test_going_back_says_how_many_turns_are_undone(home: CodexHome) -> None:
    log = home.session("main")
    log.event("thread_rolled_back", num_turns=2)
    record = records(log)[-1]
    assert record.turns_undone == 2
    assert record.events[0].kind == "human_intervention"


def test_errors_and_retries_of_the_stream_are_errors(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.event("error", message="no credit")
    log.event("stream_error", message="reconnecting 1/5")
    assert [(e.kind, e.marks) for e in events(log)[1:]] == [("error", ()), ("error", ("retry",))]


def test_a_thread_has_the_name_it_was_given(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.event("thread_name_updated", thread_name="Fix the build")
    assert records(log)[-1].facts == {"ai_title": "Fix the build"}


def test_copies_inside_a_compaction_are_not_read(home: CodexHome) -> None:
    log = home.session("main")
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
    ]
    log.line("compacted", {"message": "the story so far", "replacement_history": history})
    event = events(log)[-1]
    assert (event.kind, event.summary, len(events(log))) == ("lifecycle", "the story so far", 2)


def test_a_plan_is_a_decision_to_take(home: CodexHome) -> None:
    log = home.session("main")
    log.item("Plan", id="p", text="first this")
    assert (events(log)[-1].kind, events(log)[-1].summary) == ("decision", "first this")


def test_what_is_unknown_is_kept_under_its_own_name(home: CodexHome) -> None:
    log = home.session("main")
    log.event("moon_phase", message="waxing")
    log.item("Moon", id="m", text="full")
    log.line("response_item", {"type": "moon_call"})
    log.line("moon", {})
    assert [(e.kind, e.native_kind) for e in events(log)[1:]] == [
        ("lifecycle", kind) for kind in ("moon_phase", "item/Moon", "moon_call", "moon")
    ]


# ---------------------------------------------------------------- whose lines they are


def test_the_first_meta_names_the_session_and_says_where_it_ran(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.meta(cwd="/elsewhere")
    first, *rest = records(log)
    assert (first.cwd, first.git_branch, first.agent_version) == (
        "/home/mira/code/app",
        "main",
        "0.166.0",
    )
    assert {record.session for record in (first, *rest)} == {log.thread}
    assert rest[-1].parent_session is None


def test_a_log_that_begins_in_the_middle_goes_by_its_name(home: CodexHome) -> None:
    log = home.session("main", LEGACY, header=False)
    log.turn("go on")
    assert {record.session for record in records(log)} == {log.thread}


def test_a_name_that_is_none_gets_a_substitute(home: CodexHome) -> None:
    log = home.session("main", LEGACY, header=False)
    log.thread = "../../etc"
    log.meta()
    [record] = records(log)
    assert record.session.startswith("x-") and record.unfit_name == "../../etc"


def test_a_fork_by_reference_names_its_parent_and_where_it_left_it(home: CodexHome) -> None:
    parent = home.session("parent")
    parent.turn("go on")
    fork = home.fork(parent, "fork")
    first = records(fork)[0]
    assert (first.parent_session, first.relation) == (parent.thread, "fork")
    assert first.base is not None
    assert (first.base.session, first.base.ordinal) == (parent.thread, parent.ordinal)


def test_a_subagent_names_who_started_it(home: CodexHome) -> None:
    parent = home.session("parent")
    child = home.subagent(parent, "child", agent_nickname="Ada")
    guardian = home.session("g", source={"subagent": {"other": "guardian"}}, session_id="root")
    first = records(child)[0]
    assert (first.parent_session, first.relation, first.spawn_depth) == (
        parent.thread,
        "subagent",
        1,
    )
    assert first.facts == {"agent_name": "Ada"}
    assert records(guardian)[0].parent_session == "root"
    assert records(guardian)[0].facts == {"agent_name": "guardian"}


def test_a_parents_history_in_a_subagents_log_is_not_told_again(home: CodexHome) -> None:
    parent = home.session("parent")
    parent.turn("go on")
    parent.answer("I do.")
    child = home.subagent(parent, "child", subagent_history_start_ordinal=3)
    child.say("user", "go on")
    child.say("assistant", "I do.")
    child.turn("look at it")
    assert [r.bookkeeping for r in records(child)[1:3]] == ["inherited", "inherited"]
    assert [e.summary for e in events(child) if e.role == "user"][-1] == "look at it"
    assert not [e for e in events(child) if e.kind == "assistant_msg"]


def test_a_migrated_subagent_keeps_its_own_work_wherever_its_history_is_said_to_begin(
    home: CodexHome,
) -> None:
    parent = home.session("parent")
    parent.turn("go on")
    turn = parent.turn_id
    child = home.subagent(parent, "child", subagent_history_start_ordinal=99)
    child.event("task_started", turn_id=turn)
    child.say("user", "go on")
    child.total = {**child.total, "input_tokens": 500, "output_tokens": 50}
    child.count()
    child.turn("look at it")
    child.answer("seen")
    child.total["output_tokens"] += 4
    child.count({**child.total, "input_tokens": 0, "output_tokens": 4})
    found = records(child)
    assert [r.bookkeeping for r in found[1:4]] == ["inherited"] * 3
    assert [e.summary for e in events(child)][-2:] == ["look at it", "seen"]
    assert [r.usage.output_tokens for r in found if r.usage] == [4]


def test_a_subagents_copy_of_a_subagents_history_has_the_names_of_that(home: CodexHome) -> None:
    parent = home.session("parent", LEGACY)
    child = home.subagent(parent, "child", LEGACY)
    go_on(child, "look", True)
    grandchild = home.subagent(child, "grandchild", LEGACY)
    grandchild.copy(child.lines)
    names = {r.native_id for r in records(child) if r.events}
    own = [r for r in records(grandchild) if r.events and r.native_id not in names]
    assert [r.events[0].native_kind for r in own] == ["session_meta"]


def test_turns_that_a_migration_counted_are_no_names(home: CodexHome) -> None:
    logs = [home.session(name) for name in ("one", "other")]
    for log in logs:
        log.event("task_started", turn_id="rollout-1")
        log.prompt("go on")
    names = [{r.native_id for r in records(log) if r.events} for log in logs]
    assert names[0].isdisjoint(names[1])


@pytest.mark.parametrize("has_turns", [True, False])
def test_a_migrated_fork_has_the_names_of_what_it_copied(home: CodexHome, has_turns: bool) -> None:
    parent = home.session("parent")
    go_on(parent, "go on", has_turns)
    fork = home.session("fork", forked_from_id=parent.thread)
    fork.copy(parent.lines[1:])
    go_on(fork, "go back", has_turns)
    names = {r.native_id for r in records(parent) if r.events}
    own = [r for r in records(fork) if r.events and r.native_id not in names]
    assert [e.summary for r in own[1:] for e in r.events][-4:] == ["go back", "I do.", "ls", "a.py"]
    assert len(own) == 5


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("has_turns", [True, False])
def test_a_copied_line_has_the_name_of_what_it_copies_and_an_own_line_has_not(
    home: CodexHome, has_turns: bool, says_so: bool
) -> None:
    parent = home.session("parent", LEGACY)
    for _ in range(2):
        go_on(parent, "go on", has_turns)
    meta = {"forked_from_id": parent.thread} if says_so else {}
    fork = home.session("fork", LEGACY, **meta)
    fork.copy(parent.lines)
    go_on(parent, "go on", has_turns)
    # Where turns have no ids, only other words tell a fork's line from its parent's.
    go_on(fork, "go on" if has_turns else "go back", has_turns)
    names = {r.native_id for r in records(parent) if r.events}
    forked = [r for r in records(fork) if r.events]
    own = [r for r in forked if r.native_id not in names]
    assert [e.summary for r in own[1:] for e in r.events] == [
        "go on" if has_turns else "go back",
        "I do.",
        "ls",
        "a.py",
    ]
    assert own[0].events[0].native_kind == "session_meta"
    assert forked[1].parent_session == parent.thread


def go_on(log: Rollout, words: str, has_turns: bool) -> None:
    if has_turns:
        log.turn(words)
    else:
        log.event("task_started", turn_id="rollout-1")
        log.context(turn_id=None)
        log.prompt(words)
    log.answer("I do.")
    log.shell("ls")
    log.used(input=9, output=3)
    log.result(ran(0, "a.py"))


def test_a_copy_of_a_copy_has_the_first_names_too(home: CodexHome) -> None:
    for has_turns in (True, False):
        first = home.session("first", LEGACY)
        go_on(first, "go on", has_turns)
        second = home.session("second", LEGACY, forked_from_id=first.thread)
        second.copy(first.lines)
        go_on(second, "go back", has_turns)
        third = home.session("third", LEGACY, forked_from_id=second.thread)
        third.copy(second.lines)
        names = {r.native_id for log in (first, second) for r in records(log) if r.events}
        new = [r for r in records(third) if r.events and r.native_id not in names]
        assert len(new) == 1
        used = {r.usage.usage_id for log in (first, second) for r in records(log) if r.usage}
        assert {r.usage.usage_id for r in records(third) if r.usage} == used


@pytest.mark.parametrize("generation", GENERATIONS)
def test_logs_without_their_beginning_share_no_names(home: CodexHome, generation: str) -> None:
    logs = [home.session(name, generation, header=False) for name in ("one", "other")]
    for log in logs:
        log.prompt("go on")
    names = [{r.native_id for r in records(log) if r.events} for log in logs]
    assert names[0] and names[0].isdisjoint(names[1])


def test_a_turn_that_goes_on_after_another_hides_nothing(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn()
    first = log.turn_id
    log.answer("done")
    log.turn()
    for _ in range(2):
        log.context(turn_id=first)
        log.answer("done")
        log.context()
    names = [record.native_id for record in records(log) if record.events]
    assert len(set(names)) == len(names)


def test_ordinals_given_out_twice_do_not_hide_a_line(home: CodexHome) -> None:
    log = home.session("main")
    log.say("developer", "one")
    log.ordinal -= 1
    log.say("developer", "two")
    names = [record.native_id for record in records(log)]
    assert len(set(names)) == 3


def test_a_reverted_thread_goes_on_in_another_file_under_other_names(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    again = home.session("again", header=False)
    again.thread, again.rollout, again.ordinal = log.thread, "0199-other", 2
    again.meta(history_base={"thread_id": log.thread, "end_ordinal_exclusive": 2})
    again.turn("another way")
    assert {record.session for record in records(again)} == {log.thread}
    first = {record.native_id for record in records(log) if record.events}
    assert first.isdisjoint(record.native_id for record in records(again) if record.events)


# ---------------------------------------------------------------- hostile input


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "function_call", "name": 7, "arguments": {"a": [1]}, "call_id": ["x"]},
        {"type": "message", "role": "user", "content": {"text": 1}},
        {"type": "message", "role": "assistant", "content": [{"type": 1, "text": []}]},
        {"type": "reasoning", "summary": 7, "encrypted_content": {}},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": {"metadata": {"exit_code": "x"}},
        },
        {"type": "function_call_output", "call_id": "c", "output": 10**30},
        {"type": "token_count", "info": {"total_token_usage": {"input_tokens": "many"}}},
        {"type": "thread_rolled_back", "num_turns": -5},
        {"type": "item_completed", "item": [1, 2]},
        {"type": "item_completed", "item": {"type": 9}},
        {"type": "task_complete", "duration_ms": 1e300, "error": [[]]},
        {"type": "exec_command_end", "call_id": "c", "exit_code": 1 << 62, "duration": "99e99s"},
        {"id": {}, "history_base": "x", "source": [], "subagent_history_start_ordinal": -3},
        {"turn_id": 7, "model": {}, "approval_policy": {"a": {"b": 1}}, "sandbox_policy": []},
        {"usage": {"input_tokens": 1 << 62, "output_tokens": -4}, "response_id": "r"},
    ],
)
@pytest.mark.parametrize(
    "type", ["response_item", "event_msg", "session_meta", "turn_context", "token_usage_record"]
)
def test_no_field_of_another_type_costs_more_than_itself(
    home: CodexHome, type: str, payload: Any
) -> None:
    log = home.session("main")
    log.turn("go on")
    log.line(type, payload)
    log.turn("still there")
    found = records(log)
    assert not [record for record in found if record.problem]
    assert [e.summary for e in events(log) if e.is_prompt] == ["go on", "still there"]


def test_a_state_stays_small_whatever_the_log_holds(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    log.turn("go on")
    for number in range(400):
        log.answer(f"step {number} " + "x" * 500)
        log.event("agent_message", message=f"alone {number}")
        log.shell(f"echo {number}")
        log.event("turn_aborted", reason="y" * 1000)
    log.call("shell", "c" * 100_000, command="ls")
    log.context(turn_id="t" * 100_000, model="m" * 100_000)
    ref = SourceRef(log.place, session=log.thread)
    cursors = [cursor for cursor, _ in codex.read(BytesSource(ref, log.data), Cursor())]
    assert max(len(cursor.state) for cursor in cursors) < 16_000
    names = [record.native_id for record in records(log) if record.events]
    assert len(set(names)) == len(names)
