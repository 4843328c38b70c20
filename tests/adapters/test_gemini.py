"""Gemini CLI under the contract that every adapter keeps, and what its lines become."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.gemini import AGENT as adapter
from session_memory.derive.bodies import Bodies
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import collected, events_of, usage_of

DATA = Path(__file__).parent.parent / "data" / "gemini"


@pytest.mark.parametrize("scenario", ["basic", "resume"])
class TestRecordedSessions(AdapterContract):
    adapter = adapter
    unknown = (
        b'{"id":"m9","timestamp":"2026-11-15T06:49:16.723Z","type":"moon","content":"waxing"}\n'
    )

    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = DATA / scenario / "home"


class TestDocument(AdapterContract):
    """A session before 0.40: one document, read as lines."""

    adapter = adapter
    samples = DATA / "document" / "home"
    unknown = b'{"message":{"id":"m9","type":"moon","content":"waxing"}}\n'


def message(own: str, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    at = "2026-11-15T06:49:16.723Z"
    return {"id": own, "timestamp": at, "type": kind, "content": content, **fields}


def prompt(own: str, text: str) -> dict[str, Any]:
    return message(own, "user", [{"text": text}])


def answer(own: str, text: str = "Done.", **fields: Any) -> dict[str, Any]:
    tokens = {"input": 100, "cached": 60, "output": 7, "thoughts": 3, "tool": 0, "total": 110}
    return message(own, "gemini", text, model="gemini-2.5-pro", tokens=tokens, **fields)


def call(own: str, output: str, status: str = "success", **fields: Any) -> dict[str, Any]:
    given = {"id": own, "name": "run_shell_command", "response": {"output": output}}
    asked = {"id": own, "name": "run_shell_command", "args": {"command": "make"}}
    return {**asked, "result": [{"functionResponse": given}], "status": status, **fields}


def write(home: Path, *lines: dict[str, Any]) -> None:
    place = home / ".gemini" / "tmp" / "app" / "chats"
    place.mkdir(parents=True, exist_ok=True)
    header = {"sessionId": "s1", "projectHash": "0b5", "startTime": "2026-11-15T06:49:16.723Z"}
    text = "".join(json.dumps(line) + "\n" for line in ({**header, "kind": "main"}, *lines))
    (place / "session-2026-11-15T06-49-s1.jsonl").write_text(text)


def test_a_message_that_is_written_again_gives_only_what_is_new(tmp_path: Path) -> None:
    first, second = call("c1", "made"), call("c2", "Output: no\nExit Code: 2\n")
    write(
        tmp_path,
        prompt("m1", "build it"),
        answer("m2", "I build."),
        answer("m2", "I build.", toolCalls=[first]),
        answer("m2", "I build.", toolCalls=[first, second]),
        message("m3", "user", [{"functionResponse": first["result"][0]["functionResponse"]}]),
        answer("m4"),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        assert [(event.kind, event.call_id) for event in events] == [
            ("user_msg", None),
            ("assistant_msg", None),
            ("tool_call", "c1"),
            ("tool_result", "c1"),
            ("tool_call", "c2"),
            ("error", "c2"),
            ("assistant_msg", None),
        ]
        assert events[5].exit_code == 2
        # What is shown of an event is read from its record alone.
        bodies = Bodies(store)
        assert [bodies.of(event).arguments for event in events[2:5:2]] == [{"command": "make"}] * 2
        assert bodies.of(events[5]).text.startswith("Output: no")
        cost = store.sessions.get("gemini:s1").cost
        assert (cost.input_tokens, cost.cache_read_tokens, cost.output_tokens) == (80, 120, 20)


def test_an_answer_without_words_counts_for_the_model_of_the_answer_before(tmp_path: Path) -> None:
    unnamed = message("m4", "gemini", [], tokens={"input": 40, "cached": 0, "output": 2})
    write(tmp_path, prompt("m1", "build it"), answer("m2"), prompt("m3", "and?"), unnamed)
    with collected(tmp_path) as store:
        used = [(usage.usage_id, usage.model) for usage in usage_of(store, "gemini:s1")]
        assert used == [("m2", "gemini-2.5-pro"), ("m4", "gemini-2.5-pro")]
        assert events_of(store, "gemini:s1")[-1].model == "gemini-2.5-pro"


@pytest.mark.parametrize(
    "said",
    [
        'System: Potential loop detected. Details: Repeating content detected: "yyy...".',
        "System: Please continue.",
    ],
)
def test_what_the_program_tells_the_model_is_no_prompt(tmp_path: Path, said: str) -> None:
    """Gemini CLI logs it like a prompt, and may display the words of the last prompt with it."""
    again = {**prompt("m3", said), "displayContent": "build it"}
    write(tmp_path, prompt("m1", "build it"), answer("m2"), again, answer("m4"))
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        assert [event.summary for event in events if event.is_a("user_msg")] == ["build it"]
        assert (events[2].kind, events[2].native_kind) == ("lifecycle", "user/system")
        assert events[2].summary.startswith(said[:40])


def test_a_command_of_the_person_is_no_prompt_and_can_be_gone_back_to(tmp_path: Path) -> None:
    ran = "I ran the following shell command:\n```sh\necho \\`date\\`\n```\n\n"
    ran += "This produced the following result:\n```\nMonday\n```"
    lines = [prompt("m1", "build it"), answer("m2"), prompt("m3", ran), answer("m4")]
    write(tmp_path, *lines, {"$rewindTo": "m3"}, prompt("m5", "in red"))
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        assert [event.summary for event in events if event.is_a("user_msg")] == [
            "build it",
            "in red",
        ]
        assert (events[2].kind, events[2].summary) == ("lifecycle", "! echo `date`")
        assert [event.summary for event in events if event.branch] == ["! echo `date`", "Done."]


def test_a_history_that_is_written_again_counts_once(tmp_path: Path) -> None:
    context = prompt("x0", "<session_context>\n- **Workspace Directories:**\n  - /home/mira/app\n")
    lines = [prompt("m1", "build it"), answer("m2")]
    again = [context, prompt("n1", "build it"), message("n2", "gemini", "Done.")]
    write(
        tmp_path,
        {"$set": {"messages": [context]}},
        *lines,
        {"$set": {"messages": again}},
        prompt("m3", "and test it"),
    )
    with collected(tmp_path) as store:
        session, events = store.sessions.get("gemini:s1"), events_of(store, "gemini:s1")
        assert session.cwd == "/home/mira/app" and session.cost.output_tokens == 10
        asked = [event.summary for event in events if event.is_a("user_msg")]
        assert asked == ["build it", "and test it"]


def test_going_back_to_a_prompt_abandons_what_came_after_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        prompt("m1", "build it"),
        answer("m2"),
        prompt("m3", "in red"),
        answer("m4", "Red."),
        {"$rewindTo": "m3"},
        prompt("m5", "in blue"),
    )
    with collected(tmp_path) as store:
        left = [event.summary for event in events_of(store, "gemini:s1") if event.branch]
        assert left == ["in red", "Red."]


def test_a_call_that_a_person_refused_is_an_intervention(tmp_path: Path) -> None:
    refused = call("c1", "", "cancelled")
    write(
        tmp_path,
        prompt("m1", "build it"),
        answer("m2", "", toolCalls=[refused]),
        message("m3", "info", "Request cancelled."),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        assert [event.is_a("human_intervention") for event in events] == [False, False, True, True]


@pytest.mark.parametrize(
    ("output", "printed", "code"),
    [
        ("Output: all well\nExit Code: 7\nProcess Group PGID: 5", "all well\nExit Code: 7", 0),
        ("Output: all well\nExit Code: 7\nProcess Group PGID: 5", "all well", 7),
        ("Output: Exit Code: 7\nExit Code: 2\n", "Exit Code: 7", 2),
        ("Output: (empty)\nExit Code: 3", "Command exited with code: 3", 3),
        ("Exit Code: 4", "", 4),
    ],
)
def test_what_a_command_printed_is_not_its_exit_code(
    tmp_path: Path, output: str, printed: str, code: int
) -> None:
    made = call("c1", output, resultDisplay=printed)
    write(tmp_path, prompt("m1", "build it"), answer("m2", "", toolCalls=[made]))
    with collected(tmp_path) as store:
        [result] = [event for event in events_of(store, "gemini:s1") if event.is_a("tool_result")]
        assert (result.exit_code, result.is_error) == (code, bool(code))


def test_both_subagents_of_one_answer_are_linked_to_their_calls(tmp_path: Path) -> None:
    calls = [call("c1", "ok", agentId="k1"), call("c2", "ok", agentId="k2")]
    write(tmp_path, prompt("m1", "look"), answer("m2", "", toolCalls=calls), answer("m3"))
    below = tmp_path / ".gemini" / "tmp" / "app" / "chats" / "s1"
    below.mkdir()
    for child in ("k1", "k2"):
        header = {"sessionId": child, "projectHash": "0b5", "kind": "subagent"}
        lines = [header, prompt(f"{child}-1", "list the files"), answer(f"{child}-2")]
        (below / f"{child}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    with collected(tmp_path) as store:
        found = {s.session_uid: (s.parent_uid, s.spawn_call_id) for s in store.sessions.every()}
        assert found == {
            "gemini:s1": (None, None),
            "gemini:k1": ("gemini:s1", "c1"),
            "gemini:k2": ("gemini:s1", "c2"),
        }


def test_a_call_that_a_subagent_may_not_make_is_known_by_its_result(tmp_path: Path) -> None:
    write(tmp_path, prompt("m1", "look"), answer("m2"))
    below = tmp_path / ".gemini" / "tmp" / "app" / "chats" / "s1"
    below.mkdir()
    refused = {"name": "invoke_agent", "id": "c1", "response": {"error": "Unauthorized"}}
    ended = message("k3", "user", [{"functionResponse": refused}])
    lines = [
        {"sessionId": "k1", "projectHash": "0b5", "kind": "subagent"},
        *(prompt("k2-1", "list the files"), answer("k2", "Further."), ended, {**ended, "id": "k4"}),
        {"$set": {"summary": '{"response": "Done."}'}},
    ]
    (below / "k1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    with collected(tmp_path) as store:
        made = [(e.kind, e.tool, e.is_error) for e in events_of(store, "gemini:k1") if e.call_id]
        assert made == [("tool_call", "invoke_agent", False), ("error", "invoke_agent", True)]
        # The summary of a subagent is its answer, not a title.
        assert store.sessions.get("gemini:k1").title == "list the files"


def test_a_picture_that_a_tool_read_is_no_prompt(tmp_path: Path) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    result = call("c1", "Binary content")["result"][0]
    seen = answer("m2", "", toolCalls=[call("c1", "Binary content")])
    write(tmp_path, prompt("m1", "look"), seen, message("m3", "user", [result, picture]))
    with collected(tmp_path) as store:
        assert [e.summary for e in events_of(store, "gemini:s1") if e.is_a("user_msg")] == ["look"]


@pytest.mark.parametrize(
    ("retention", "days"),
    [({}, 30), ({"enabled": False}, None), ({"maxAge": "2w"}, 14), ({"maxAge": "soon"}, 30)],
)
def test_how_long_it_keeps_its_logs_is_a_setting(
    tmp_path: Path, retention: dict[str, Any], days: int | None
) -> None:
    settings = {"general": {"sessionRetention": retention}}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    assert adapter.keeps_days(tmp_path) == days


def test_what_hooks_say_before_a_prompt_is_no_word_of_the_person(tmp_path: Path) -> None:
    ours = '&lt;session-memory ref="a"&gt;\nkumquat\n&lt;/session-memory&gt;'
    hooks = f"<hook_context>{ours}</hook_context>\n\n<hook_context>be brief</hook_context>\n\n"
    write(tmp_path, prompt("m1", f"{hooks}peel it"), answer("m2"), prompt("m3", hooks))
    store = collected(tmp_path)
    events = [one for one in events_of(store, "gemini:s1") if one.role == "user"]
    assert [(one.kind, one.summary) for one in events][0] == ("user_msg", "peel it")
    assert (events[1].kind, events[1].native_kind) == ("lifecycle", "user/hook_context")
    # The text as a whole is shown and found.
    assert "kumquat" in Bodies(store).of(events[0]).text and store.index.terms_from("kumquat")


def test_calls_of_two_messages_with_one_id_are_two_calls(tmp_path: Path) -> None:
    """Some models number their calls, and some give them no ids."""
    nameless = [{**call("", text), "id": None} for text in ("three", "four")]
    first, second = call("call_0", "one"), call("call_0", "two")
    write(
        tmp_path,
        prompt("m1", "build it"),
        answer("m2", "", toolCalls=[first]),
        answer("m3", "", toolCalls=[second]),
        answer("m3", "", toolCalls=[second]),
        answer("m4", "", toolCalls=nameless[:1]),
        answer("m4", "", toolCalls=nameless),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        assert [event.summary for event in events if event.is_a("tool_result")] == [
            *("one", "two", "three", "four")
        ]
        assert sum(event.is_a("tool_call") for event in events) == 4


def test_a_content_is_a_text_or_a_part_or_a_list_of_both(tmp_path: Path) -> None:
    contents = ["one", {"text": "two"}, ["three", {"text": "four"}], [], None, [7]]
    write(tmp_path, *(message(f"m{at}", "user", said) for at, said in enumerate(contents)))
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        said = [event.summary for event in events if event.is_a("user_msg")]
        assert said == ["one", "two", "three four"] and len(events) == len(contents)


def test_a_history_before_the_first_message_counts_once(tmp_path: Path) -> None:
    history = {"$set": {"messages": [prompt("n1", "build it"), message("n2", "gemini", "Done.")]}}
    write(tmp_path, history, history, prompt("m1", "and test it"))
    with collected(tmp_path) as store:
        events = events_of(store, "gemini:s1")
        assert [event.summary for event in events] == ["build it", "Done.", "and test it"]


def test_only_the_end_of_a_commands_output_has_its_exit_code(tmp_path: Path) -> None:
    file = {**call("c1", "Exit Code: 3\n"), "name": "read_file"}
    printed = call("c2", "Output: Exit Code of a log:\nExit Code: 3\nExit Code: 0\n")
    write(tmp_path, prompt("m1", "look"), answer("m2", "", toolCalls=[file, printed]))
    with collected(tmp_path) as store:
        results = [one for one in events_of(store, "gemini:s1") if one.is_a("tool_result")]
        assert [(one.exit_code, one.is_error) for one in results] == [(None, False), (0, False)]


def test_going_back_after_a_resume_finds_the_prompt_by_its_words(tmp_path: Path) -> None:
    context = prompt("x0", "<session_context>\n")
    history = [context, prompt("n1", "build it"), message("n2", "gemini", "Done.")]
    again = [*history, prompt("n3", "in red"), message("n4", "gemini", "Red.")]
    write(
        tmp_path,
        prompt("m1", "build it"),
        answer("m2"),
        {**prompt("m3", "in red"), "displayContent": "red"},
        answer("m4", "Red."),
        {"$set": {"messages": again}},
        {"$rewindTo": "n3"},
        prompt("m5", "in blue"),
    )
    with collected(tmp_path) as store:
        left = [event.summary for event in events_of(store, "gemini:s1") if event.branch]
        assert left == ["red", "Red."]


def test_the_words_of_a_prompt_are_those_that_were_typed(tmp_path: Path) -> None:
    content = [{"text": "read @notes.txt"}, {"text": "the notes"}]
    write(tmp_path, message("m1", "user", content, displayContent=[{"text": "read @notes.txt"}]))
    with collected(tmp_path) as store:
        [event] = events_of(store, "gemini:s1")
        assert event.summary == "read @notes.txt"
        assert "the notes" in Bodies(store).of(event).text


def test_a_part_that_is_a_thought_is_no_answer(tmp_path: Path) -> None:
    """Gemini CLI writes such a message itself when a tool gave a picture."""
    received = message("m2", "gemini", [{"text": "Binary content received.", "thought": True}])
    write(tmp_path, prompt("m1", "look"), received)
    with collected(tmp_path) as store:
        kinds = [event.kind for event in events_of(store, "gemini:s1")]
        assert kinds == ["user_msg", "thinking"]


def test_a_prompt_without_an_id_after_going_back_abandons_nothing_more(tmp_path: Path) -> None:
    lines = [prompt("m1", "build it"), answer("m2"), prompt("m3", "in red"), {"$rewindTo": "m3"}]
    write(tmp_path, *lines, prompt("", "in blue"))
    with collected(tmp_path) as store:
        left = [event.summary for event in events_of(store, "gemini:s1") if event.branch]
        assert left == ["in red"]


def test_a_call_took_the_time_from_its_answer_to_its_end(tmp_path: Path) -> None:
    long = call("c1", "made", timestamp="2026-11-15T06:49:18.223Z")
    early = call("c2", "made", timestamp="2026-11-15T06:00:00.000Z")
    write(tmp_path, prompt("m1", "build it"), answer("m2", toolCalls=[long, early]))
    with collected(tmp_path) as store:
        results = [one for one in events_of(store, "gemini:s1") if one.is_a("tool_result")]
        assert results[0].duration_ms == 1500
