"""Kimi Code and kimi-cli under the contract of all adapters, and what their lines become."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.kimi import AGENT as adapter
from session_memory.adapters.kimi.layout import directory_fits
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import check_sound, collected, events_of, every_usage

DATA = Path(__file__).parent.parent / "data" / "kimi"
UNKNOWN = b'{"type":"moon.phase","agentId":"main","name":"waxing","time":1794850046361}\n'
SESSION = "session_0a0a"
USED = {"inputOther": 5, "output": 7, "inputCacheRead": 11, "inputCacheCreation": 13}


@pytest.mark.parametrize("scenario", ["fork", "subagent", "old_interrupt"])
class TestRecordedSessions(AdapterContract):
    adapter = adapter
    unknown = UNKNOWN

    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = DATA / scenario / "home"


def log(home: Path, *lines: dict[str, Any], state: dict[str, Any] | None = None) -> None:
    """A home with a session of Kimi Code."""
    place = home / ".kimi-code" / "sessions" / "wd_app_0123456789ab" / SESSION
    head = {"type": "metadata", "protocol_version": "1.5", "created_at": 1_794_850_000_000}
    timed = [
        {"agentId": "main", **line, "time": 1_794_850_000_000 + at} for at, line in enumerate(lines)
    ]
    _write(place / "agents" / "main" / "wire.jsonl", head, *timed)
    if state is not None:
        (place / "state.json").write_text(json.dumps(state))


def old_log(home: Path, *messages: tuple[str, dict[str, Any]], name: str = "wire.jsonl") -> None:
    """A home with a session of kimi-cli."""
    place = home / ".kimi" / "sessions" / "0123456789abcdef" / "8a095bfe"
    lines = [
        {"timestamp": 1794850000.25 + at, "message": {"type": kind, "payload": payload}}
        for at, (kind, payload) in enumerate(messages)
    ]
    _write(place / name, {"type": "metadata", "protocol_version": "1.10"}, *lines)


def _write(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def prompt(text: str, kind: str = "user", **origin: Any) -> dict[str, Any]:
    said = [{"type": "text", "text": text}]
    return {"type": "turn.prompt", "input": said, "origin": {"kind": kind, **origin}}


def appended(text: str, role: str = "user", kind: str = "user", **more: Any) -> dict[str, Any]:
    said = {"role": role, "content": [{"type": "text", "text": text}], "origin": {"kind": kind}}
    return {"type": "context.append_message", "message": {**said, **more}}


def loop(what: str, **fields: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": what, **fields}}


def kinds(home: Path, uid: str = f"kimi:{SESSION}") -> list[tuple[str, str, str]]:
    with collected(home) as store:
        assert not list(store.problems.every())
        return [(e.kind, e.native_kind or "", e.summary) for e in events_of(store, uid)]


def test_a_prompt_is_one_event_though_the_log_has_it_twice(tmp_path: Path) -> None:
    log(
        tmp_path,
        prompt("make it work"),
        appended("make it work"),
        appended("It is Monday.", kind="injection"),
        prompt("make it work"),
        appended("make it work"),
    )
    assert [event[0] for event in kinds(tmp_path)] == ["user_msg", "lifecycle", "user_msg"]


def test_a_message_without_its_prompt_is_no_copy(tmp_path: Path) -> None:
    """`kimi migrate` writes the messages of old sessions without the prompts that began turns."""
    call = {
        "type": "function",
        "id": "c1",
        "function": {"name": "Bash", "arguments": '{"command":"ls"}'},
    }
    log(
        tmp_path,
        appended("make it work"),
        appended("I look.", role="assistant", toolCalls=[call]),
        appended("README.md", role="tool", toolCallId="c1"),
    )
    found = [event[0] for event in kinds(tmp_path)]
    assert found == ["user_msg", "assistant_msg", "tool_call", "tool_result"]


def test_only_words_of_a_person_are_prompts(tmp_path: Path) -> None:
    log(
        tmp_path,
        prompt("<skill>…</skill>", "skill_activation", trigger="user-slash", skillName="review"),
        prompt("a task has ended", "task"),
        {**prompt("no, the other file"), "type": "turn.steer"},
    )
    assert kinds(tmp_path) == [
        ("user_msg", "turn.prompt", "/review"),
        ("lifecycle", "turn.prompt/task", "a task has ended"),
        ("human_intervention", "turn.steer", "no, the other file"),
    ]


def test_a_request_counts_before_its_step_has_ended_and_only_once(tmp_path: Path) -> None:
    """The usage comes with the answer. The end of the step comes after its tools, or never."""
    used = {"type": "usage.record", "model": "alias", "usage": USED, "usageScope": "turn"}
    log(
        tmp_path,
        prompt("go"),
        {"type": "llm.request", "kind": "loop", "model": "kimi-k2.5", "modelAlias": "alias"},
        loop("step.begin", uuid="s1"),
        used,
        loop("step.end", uuid="s1", finishReason="tool_use", usage=USED, messageId="m1"),
        loop("step.begin", uuid="s2"),
        used,
    )
    with collected(tmp_path) as store:
        found = list(every_usage(store))
    assert [(u.usage_id, u.model, u.input_tokens, u.output_tokens) for u in found] == [
        ("kimi@s1", "kimi-k2.5", 5, 7),
        ("kimi@s2", "kimi-k2.5", 5, 7),
    ]
    assert [(u.cache_read_tokens, u.cache_write_tokens) for u in found] == [(11, 13)] * 2


def test_what_is_logged_for_a_request_that_was_broken_off_does_not_count(tmp_path: Path) -> None:
    log(
        tmp_path,
        prompt("go"),
        loop("step.begin", uuid="s1"),
        {"type": "turn.cancel", "turnId": 0, "target": "active", "reason": "user_cancelled"},
        loop("step.end", uuid="s1", finishReason="interrupted"),
        {
            "type": "usage.record",
            "model": "m",
            "usage": {**USED, "output": 0},
            "usageScope": "turn",
        },
        {"type": "turn.ended", "turnId": 0, "reason": "cancelled", "durationMs": 12},
    )
    with collected(tmp_path) as store:
        assert not list(every_usage(store))
        events = list(events_of(store, f"kimi:{SESSION}"))
    assert [e.kind for e in events] == ["user_msg", "human_intervention", "lifecycle"]


def test_the_summary_of_a_compaction_counts(tmp_path: Path) -> None:
    log(
        tmp_path,
        {"type": "full_compaction.begin", "source": "auto"},
        {"type": "llm.request", "kind": "compaction", "model": "kimi-k2.5"},
        {"type": "usage.record", "model": "alias", "usage": USED, "usageScope": "session"},
        {"type": "context.apply_compaction", "summary": "We did this.", "compactedCount": 3},
    )
    with collected(tmp_path) as store:
        assert [(u.model, u.output_tokens) for u in every_usage(store)] == [("kimi-k2.5", 7)]


def test_prompts_that_were_undone_are_an_abandoned_branch(tmp_path: Path) -> None:
    log(
        tmp_path,
        prompt("one"),
        prompt("two"),
        {"type": "context.undo", "count": 1},
        prompt("three"),
    )
    with collected(tmp_path) as store:
        events = list(events_of(store, f"kimi:{SESSION}"))
    assert [(e.summary, e.branch is None) for e in events if e.is_a("user_msg")] == [
        ("one", True),
        ("two", False),
        ("three", True),
    ]


@pytest.mark.parametrize(
    ("verdict", "kind"), [("approved", "decision"), ("rejected", "human_intervention")]
)
def test_what_a_person_allows_is_a_decision(tmp_path: Path, verdict: str, kind: str) -> None:
    log(
        tmp_path,
        prompt("go"),
        loop("step.begin", uuid="s1"),
        loop("tool.call", uuid="t1", toolCallId="c1", name="Bash", args={"command": "rm x"}),
        {
            "type": "permission.record_approval_result",
            "toolCallId": "c1",
            "toolName": "Bash",
            "result": {"decision": verdict},
        },
        loop("tool.result", parentUuid="t1", toolCallId="c1", result={"output": "rejected"}),
    )
    with collected(tmp_path) as store:
        events = list(events_of(store, f"kimi:{SESSION}"))
    assert events[2].kind == kind
    assert events[3].is_error == (verdict == "rejected")


def test_a_title_of_ones_own_and_the_directory_are_in_the_state(tmp_path: Path) -> None:
    state = {"title": "Mine", "isCustomTitle": True, "cwd": "/home/mira/app"}
    log(tmp_path, prompt("go"), state=state)
    with collected(tmp_path) as store:
        (session,) = store.sessions.every()
    assert (session.title, session.cwd) == ("Mine", "/home/mira/app")


@pytest.mark.parametrize("goes_on", [False, True], ids=["copied", "goes on in the fork"])
@pytest.mark.parametrize("fork", ["session_0000", "session_ffff"], ids=["first", "last"])
def test_a_forks_copies_of_subagents_repeat_those_of_the_origin(
    tmp_path: Path, fork: str, goes_on: bool
) -> None:
    """Kimi Code 2.1.0 copies the logs of all agents and ends each copy with a line of its own. The
    origin may be read after its fork."""
    place = tmp_path / ".kimi-code" / "sessions" / "wd_app_0123456789ab"

    def write(session: str, agent: str, at: int, lines: list[dict[str, Any]]) -> None:
        head = {"type": "metadata", "protocol_version": "1.5", "created_at": at}
        timed = [
            {"agentId": agent, "time": at + number, **line} for number, line in enumerate(lines)
        ]
        _write(place / session / "agents" / agent / "wire.jsonl", head, *timed)

    begun = 1_794_850_000_000
    spawned = {"type": "subagent.spawned", "subagentId": "agent-0", "parentToolCallId": "c1"}
    call = loop("tool.call", uuid="u1", toolCallId="c1", name="Agent", args={"prompt": "count"})
    main = [prompt("use a helper"), loop("step.begin", uuid="s1"), call, spawned]
    helper = [
        prompt("count", kind="system_trigger", name="subagent"),
        loop("step.begin", uuid="s2"),
        {"type": "usage.record", "model": "k", "usage": USED, "usageScope": "turn"},
        loop("content.part", uuid="p1", part={"type": "text", "text": "six"}),
    ]
    write(SESSION, "main", begun, main)
    write(SESSION, "agent-0", begun + 100, helper)
    forked, again = {"type": "forked"}, loop("content.part", uuid="p2", part={"type": "text"})
    write(fork, "main", begun, [*main, {**forked, "time": begun + 900}, prompt("in the copy")])
    more = [{**again, "time": begun + 2000}] if goes_on else []
    write(fork, "agent-0", begun + 100, [*helper, {**forked, "time": begun + 901}, *more])
    (place / SESSION / "state.json").write_text("{}")
    (place / fork / "state.json").write_text(json.dumps({"forkedFrom": SESSION}))
    with collected(tmp_path) as store:
        check_sound(store)
        assert store.problems.count() == 0
        origin, copy = f"kimi:{SESSION}", f"kimi:{fork}"
        found = {one.session_uid: one for one in store.sessions.every()}
        assert {uid: (one.parent_uid, one.relation) for uid, one in found.items()} == {
            origin: (None, None),
            f"{origin}:agent-0": (origin, "subagent"),
            copy: (origin, "fork"),
            f"{copy}:agent-0": (copy, "subagent"),
        }
        assert [usage.session_uid for usage in every_usage(store)] == [f"{origin}:agent-0"]
        assert found[f"{origin}:agent-0"].spawn_call_id == "c1"
        own = [event.native_kind for event in events_of(store, f"{copy}:agent-0")]
        assert own == ["forked", *["loop/text"] * goes_on]


def test_a_directory_is_named_after_the_repository() -> None:
    assert directory_fits("wd_my-app_0123456789ab", "my-app")
    assert not directory_fits("wd_my-app_0123456789ab", "app")


def test_kimi_cli_logs_a_refusal_an_answer_and_a_failed_request(tmp_path: Path) -> None:
    function = {"name": "Shell", "arguments": '{"command": "rm x"}'}
    answers = {"Which one?": "the first"}
    old_log(
        tmp_path,
        ("TurnBegin", {"user_input": [{"type": "text", "text": "go"}]}),
        ("StepBegin", {"n": 1}),
        ("ToolCall", {"id": "c1", "function": function}),
        ("ApprovalRequest", {"id": "a1", "tool_call_id": "c1", "description": "Run rm x"}),
        ("ApprovalResponse", {"request_id": "a1", "response": "reject", "feedback": "never"}),
        ("ToolResult", {"tool_call_id": "c1", "return_value": {"is_error": True, "output": ""}}),
        ("QuestionResponse", {"request_id": "q1", "answers": answers}),
        ("SteerInput", {"user_input": "faster"}),
        ("StepBegin", {"n": 2}),
        ("StepInterrupted", {}),
        ("TurnEnd", {}),
    )
    found = kinds(tmp_path, "kimi:8a095bfe")
    assert [(kind, summary) for kind, _, summary in found] == [
        ("user_msg", "go"),
        ("tool_call", "rm x"),
        ("lifecycle", "Run rm x"),
        ("human_intervention", "reject never"),
        ("error", ""),
        ("decision", "Which one?: the first"),
        ("human_intervention", "faster"),
        ("error", "step interrupted"),
        ("lifecycle", ""),
    ]


def test_a_subagent_without_a_log_of_its_own_is_in_the_log_of_its_parent(tmp_path: Path) -> None:
    used = {"input_other": 5, "output": 7}
    inner = [
        {"type": "ContentPart", "payload": {"type": "text", "text": "Three."}},
        {"type": "StatusUpdate", "payload": {"token_usage": used, "message_id": "m1"}},
    ]
    old_log(
        tmp_path,
        ("TurnBegin", {"user_input": "go"}),
        *(("SubagentEvent", {"task_tool_call_id": "c1", "event": event}) for event in inner),
    )
    with collected(tmp_path) as store:
        events = list(events_of(store, "kimi:8a095bfe"))
        assert [u.usage_id for u in every_usage(store)] == ["m1"]
    assert [(e.kind, e.is_sidechain) for e in events] == [
        ("user_msg", False),
        ("assistant_msg", True),
    ]


def test_the_first_versions_kept_only_the_context(tmp_path: Path) -> None:
    place = tmp_path / ".kimi" / "sessions" / "0123456789abcdef"
    call = {
        "type": "function",
        "id": "c1",
        "function": {"name": "Shell", "arguments": '{"command":"ls"}'},
    }
    _write(
        place / "8a095bfe.jsonl",
        {"role": "_system_prompt", "content": "…"},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "<system>CHECKPOINT 0</system>"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "content": [{"type": "text", "text": "README.md"}], "tool_call_id": "c1"},
        {"role": "_usage", "token_count": 12},
    )
    found = [kind for kind, _, _ in kinds(tmp_path, "kimi:8a095bfe")]
    assert found == ["lifecycle", "user_msg", "assistant_msg", "tool_call", "tool_result"]
