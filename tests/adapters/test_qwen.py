"""Qwen Code under the contract that every adapter keeps, and what its lines become."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.qwen import AGENT as adapter
from session_memory.adapters.qwen.messages import prompt
from session_memory.derive.bodies import Bodies
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    every_usage,
    new_store,
    usage_of,
)

DATA = Path(__file__).parent.parent / "data" / "qwen"
PROJECT = Path(".qwen") / "projects" / "-home-mira-app"


class TestRecordedSessions(AdapterContract):
    adapter = adapter
    samples = DATA / "basic" / "home"
    unknown = (
        b'{"uuid":"u9","parentUuid":null,"sessionId":"s1","type":"system","subtype":"moon",'
        b'"provenance":"system","systemPayload":{"message":"waxing"}}\n'
    )


class Log:
    """Lines of one session, each after the one before it."""

    def __init__(self, session: str = "s1", **fields: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.session = session
        self._fields = {"sessionId": session, "cwd": "/home/mira/app", **fields}

    def line(self, kind: str, **fields: Any) -> dict[str, Any]:
        number = len(self.lines)
        line = {
            "uuid": f"{self._fields['sessionId']}-{self._fields.get('agentId', '')}{number}",
            "parentUuid": self.lines[-1]["uuid"] if self.lines else None,
            "timestamp": f"2026-11-15T07:12:{number:02}.000Z",
            "type": kind,
            **self._fields,
            **fields,
        }
        self.lines.append(line)
        return line

    def prompt(self, text: str, **fields: Any) -> None:
        self.line("user", **{"message": {"parts": [{"text": text}]}, **fields})

    def request(self, response: str, given: int, **fields: Any) -> None:
        event = {
            "event.name": "qwen-code.api_response",
            "response_id": response,
            "model": "qwen3-coder",
            "input_token_count": 100,
            "cached_content_token_count": 60,
            "output_token_count": given,
            **fields,
        }
        self.line("system", subtype="ui_telemetry", systemPayload={"uiEvent": event})

    def answer(self, *parts: dict[str, Any], **fields: Any) -> None:
        used = {"promptTokenCount": 100, "candidatesTokenCount": 7}
        self.line("assistant", message={"parts": parts}, **{"usageMetadata": used, **fields})

    def result(self, call: str, status: str = "success", **response: Any) -> None:
        answered = {"functionResponse": {"id": call, "response": response}}
        details = {"callId": call, "status": status}
        self.line("tool_result", message={"parts": [answered]}, toolCallResult=details)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def text(said: str) -> dict[str, Any]:
    return {"text": said}


def shell(call: str, command: str) -> dict[str, Any]:
    return {"functionCall": {"id": call, "name": "run_shell_command", "args": {"command": command}}}


def test_a_subagent_has_the_usage_that_its_parents_log_holds(tmp_path: Path) -> None:
    log = Log()
    log.prompt("look around")
    log.request("r1", 5)
    log.answer({"functionCall": {"id": "c1", "name": "agent", "args": {"prompt": "list"}}})
    for number in range(3):
        # So many lines of the subagent do not part the session's own lines.
        log.request(f"k{number}", 11, subagent_name="explore", prompt_id=f"s1#explore-c1#{number}")
    log.result("c1", output="Three files.")
    log.request("r2", 6)
    log.answer(text("Three files."))
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    child = Log(agentId="explore-c1", isSidechain=True)
    child.prompt("list")
    child.answer(text("Three files."))
    below = tmp_path / PROJECT / "subagents" / "s1"
    child.write(below / "agent-explore-c1.jsonl")
    meta = {"agentId": "explore-c1", "toolUseId": "c1", "description": "List", "depth": 0}
    (below / "agent-explore-c1.meta.json").write_text(json.dumps(meta))
    with collected(tmp_path) as store:
        found = {s.session_uid: s for s in store.sessions.every()}
        assert found["qwen:s1"].cost.output_tokens == 11
        assert found["qwen:s1:explore-c1"].cost.output_tokens == 33
        assert found["qwen:s1:explore-c1"].spawn_call_id == "c1"
        assert found["qwen:s1:explore-c1"].model == found["qwen:s1"].model
        events = events_of(store, "qwen:s1")
        assert [event.parent_seq for event in events] == [None, 0, 1, 2]
        assert sum(event.is_a("user_msg") for event in events) == 1


def test_the_agents_own_helpers_count_for_the_session(tmp_path: Path) -> None:
    log = Log()
    log.prompt("hello")
    log.request("r1", 5)
    log.answer(text("Hello."))
    name = "managed-auto-memory-extractor"
    log.request("m1", 9, subagent_name=name, prompt_id=f"s1#{name}-1670cb76#0")
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        [session] = store.sessions.every()
        assert session.cost.output_tokens == 14


# A model of Anthropic reports tokens at the beginning of an answer, other models at its end.
@pytest.mark.parametrize("used", [{}, {"usageMetadata": {"candidatesTokenCount": 1}}])
def test_an_answer_without_a_request_was_stopped(tmp_path: Path, used: dict[str, Any]) -> None:
    log = Log()
    log.prompt("explain it")
    log.request("r1", 5)
    log.answer(text("It is"))
    log.prompt("and that")
    log.line("assistant", message={"parts": [text("This is a long answer, but")]}, **used)
    log.prompt("shorter")
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        events = events_of(store, "qwen:s1")
        stopped = [event for event in events if event.native_kind == "assistant/aborted"]
        assert [(event.kind, event.seq) for event in stopped] == [("human_intervention", 4)]
        assert events[3].summary == "This is a long answer, but"


def test_older_logs_have_the_usage_with_the_answer(tmp_path: Path) -> None:
    log = Log()
    log.prompt("hello")
    log.answer(text("Hello."), model="qwen3-coder")
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        assert [(usage.model, usage.output_tokens) for usage in every_usage(store)] == [
            ("qwen3-coder", 7)
        ]


def test_a_fork_counts_once_what_it_copied(tmp_path: Path) -> None:
    first = Log()
    first.prompt("build it")
    first.request("r1", 5)
    first.answer(text("Built."))
    first.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    fork = Log("s2")
    for line in first.lines:
        origin = {"sessionId": "s1", "messageUuid": line["uuid"]}
        fork.lines.append({**line, "sessionId": "s2", "forkedFrom": origin})
    fork.prompt("and test it")
    fork.write(tmp_path / PROJECT / "chats" / "s2.jsonl")
    with collected(tmp_path) as store:
        found = {s.session_uid: s for s in store.sessions.every()}
        assert (found["qwen:s2"].parent_uid, found["qwen:s2"].relation) == ("qwen:s1", "fork")
        assert sum(session.cost.output_tokens for session in found.values()) == 5


def test_results_say_how_a_call_ended(tmp_path: Path) -> None:
    log = Log()
    log.prompt("build it")
    log.answer(shell("c1", "make"), shell("c2", "make clean"))
    log.result("c1", error="Output: no\nExit Code: 2\n", status="error")
    log.result("c2", error="refused", status="cancelled")
    log.prompt("quickly", subtype="mid_turn_user_message")
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        events = events_of(store, "qwen:s1")
        assert [event.exit_code for event in events if event.is_a("error")] == [2, None]
        stopped = [event.summary for event in events if event.is_a("human_intervention")]
        assert stopped == ["refused", "quickly"]


@pytest.mark.parametrize("is_renamed", [True, False], ids=["renamed", "as it was"])
def test_a_forks_copies_of_a_subagents_requests_stay_with_the_subagent(
    tmp_path: Path, is_renamed: bool
) -> None:
    """A fork of Qwen Code 0.24.4 writes its own session into the ids of the prompts that it copies.
    A fork of a fork names only the fork as its origin."""
    logs = [Log("s3")]
    logs[0].prompt("look around")
    logs[0].request("k1", 11, subagent_name="explore", prompt_id="s3#explore-c1#0")
    for name, said in (("s2", "and now"), ("s1", "and then")):
        before, fork = logs[-1], Log(name)
        for line in before.lines:
            copied = json.dumps(line)
            if is_renamed:
                copied = copied.replace(f"{before.session}#", f"{name}#")
            origin = {"sessionId": before.session, "messageUuid": line["uuid"]}
            fork.lines.append({**json.loads(copied), "sessionId": name, "forkedFrom": origin})
        fork.prompt(said)
        logs.append(fork)
    with new_store() as store:
        for log in reversed(logs):
            # The origin comes last.
            log.write(tmp_path / PROJECT / "chats" / f"{log.session}.jsonl")
            collect(store, tmp_path)
        check_sound(store)
        found = {one.session_uid: one for one in store.sessions.every()}
        assert sorted(found) == ["qwen:s1", "qwen:s2", "qwen:s3", "qwen:s3:explore-c1"]
        subagent = found["qwen:s3:explore-c1"]
        assert (subagent.parent_uid, subagent.relation) == ("qwen:s3", "subagent")
        assert subagent.cost.output_tokens == 11
        assert sum(one.cost.output_tokens for one in found.values()) == 11


def test_a_fork_whose_origin_is_gone_counts_the_requests_of_subagents_itself(
    tmp_path: Path,
) -> None:
    fork = Log("s2")
    fork.request("k1", 11, subagent_name="explore", prompt_id="s2#explore-c1#0")
    fork.lines[0]["forkedFrom"] = {"sessionId": "s1", "messageUuid": fork.lines[0]["uuid"]}
    fork.prompt("and now")
    fork.write(tmp_path / PROJECT / "chats" / "s2.jsonl")
    with collected(tmp_path) as store:
        found = {one.session_uid: one.cost.output_tokens for one in store.sessions.every()}
        assert found == {"qwen:s2": 11}


def test_a_subagents_request_without_an_id_is_nobodys_parent(tmp_path: Path) -> None:
    log = Log()
    log.prompt("look around")
    log.request("k1", 11, subagent_name="explore", prompt_id="s1#explore-c1#0")
    log.lines[-1]["uuid"] = ""
    log.prompt("something else", parentUuid=None)
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        assert [one.parent_seq for one in events_of(store, "qwen:s1")] == [None, None]


def test_every_result_of_a_line_is_an_event_and_a_file_has_no_exit_code(tmp_path: Path) -> None:
    log = Log()
    log.prompt("look")
    log.answer(shell("c1", "ls"), shell("c2", "ls"))
    shown = {"id": "c1", "name": "read_file", "response": {"output": "Exit Code: 3\n"}}
    other = {"id": "c2", "response": {"output": "two"}}
    parts = [text("a picture"), {"functionResponse": shown}, {"functionResponse": other}]
    log.line("tool_result", message={"parts": parts})
    log.line("user", message={"parts": []})
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        events = events_of(store, "qwen:s1")
        results = [(one.call_id, one.is_error) for one in events if one.is_a("tool_result")]
        assert results == [("c1", False), ("c2", False)]
        assert [one.summary for one in events if one.is_a("user_msg")] == ["look"]


def test_files_that_a_prompt_names_are_no_words_of_it() -> None:
    said = ["Look at @a.md", "\n--- Content from referenced files ---", "\nContent from a.md:\n"]
    parts = [{"text": one} for one in (*said, "# Secret plans", "\n--- End of content ---")]
    (event,) = prompt({"provenance": "real_user", "message": {"parts": parts}})
    assert (event.kind, event.summary) == ("user_msg", "Look at @a.md")
    assert "# Secret plans" in str(event.body)


def test_a_reminder_before_a_prompt_is_no_words_of_it() -> None:
    reminder = "<system-reminder>\n1 background agent was restored.\n</system-reminder>\n\n"
    parts = [text(reminder), text("And on.")]
    (event,) = prompt({"provenance": "real_user", "message": {"parts": parts}})
    assert (event.kind, event.summary) == ("user_msg", "And on.")
    assert "1 background agent" in str(event.body)
    (typed,) = prompt({"message": {"parts": [text("<system-reminder>why?</system-reminder> so")]}})
    assert typed.summary.startswith("<system-reminder>why?")


def test_the_words_of_a_prompt_are_those_that_were_typed(tmp_path: Path) -> None:
    log = Log()
    parts = [text("read @notes.txt"), text("the notes"), text("<context>of a hook</context>")]
    shown = {"displayText": "read @notes.txt"}
    log.line("user", message={"parts": parts}, systemPayload=shown)
    log.write(tmp_path / PROJECT / "chats" / "s1.jsonl")
    with collected(tmp_path) as store:
        [event] = events_of(store, "qwen:s1")
        assert event.summary == "read @notes.txt"
        assert "the notes" in Bodies(store).of(event).text


def test_a_document_of_an_old_version_is_read_like_one_of_gemini_cli(tmp_path: Path) -> None:
    place = tmp_path / ".qwen" / "tmp" / "0b5" / "chats"
    place.mkdir(parents=True)
    at = "2025-11-15T06:49:16.723Z"
    tokens = {"input": 100, "cached": 60, "output": 10, "thoughts": 3, "tool": 0, "total": 110}
    answer = {"type": "qwen", "content": "Built.", "model": "qwen3-coder-plus", "tokens": tokens}
    document = {
        "sessionId": "s1",
        "projectHash": "0b5",
        "startTime": at,
        "lastUpdated": at,
        "messages": [
            {"id": "m1", "timestamp": at, "type": "user", "content": "build it"},
            {"id": "m2", "timestamp": at, **answer},
        ],
    }
    (place / "session-2025-11-15T06-49-s1.json").write_text(json.dumps(document, indent=2))
    for root in (tmp_path, place):
        with collected(root) as store:
            assert store.sessions.uids() == ["qwen:s1"]
            kinds = [event.kind for event in events_of(store, "qwen:s1")]
            assert kinds == ["user_msg", "assistant_msg"]
            (usage,) = usage_of(store, "qwen:s1")
            assert (usage.input_tokens, usage.cache_read_tokens) == (40, 60)
            assert (usage.output_tokens, usage.reasoning_tokens) == (10, 3)
            check_sound(store)
