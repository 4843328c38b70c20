"""Amp under the contract that every adapter keeps, and what its messages become."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.amp import AGENT as adapter
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    usage_of,
)

DATA = Path(__file__).parent.parent / "data" / "amp"
OWN = "T-019b9d03-62e3-772f-9780-3e637f90eaec"
UID = f"amp:{OWN}"
CALL = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"cmd": "make"}}


class TestThread(AdapterContract):
    adapter = adapter
    samples = DATA / "thread" / "home"
    unknown = b'{"message":{"messageId":99,"role":"moon","content":[{"type":"text"}]}}\n'


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def ran(**run: Any) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseID": "c1", "run": run}


def message(number: int, role: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": role, "messageId": number, "content": list(blocks), **fields}


def write(home: Path, *messages: dict[str, Any]) -> None:
    place = home / ".local" / "share" / "amp" / "threads"
    place.mkdir(parents=True, exist_ok=True)
    thread = {"v": 1, "id": OWN, "created": 1794851457000, "messages": messages, "title": "Make"}
    (place / f"{OWN}.json").write_text(json.dumps(thread))


def test_what_a_thread_says_about_itself() -> None:
    with collected(DATA / "thread" / "home") as store:
        (session,) = store.sessions.every()
        assert session.title == "Mend add() in calc.py"
        assert (session.cwd, session.git_branch) == ("/home/mira/code/basic", "main")
        assert session.repo == "sums"


def test_a_call_that_runs_has_no_result_until_it_ends(tmp_path: Path) -> None:
    asked = message(1, "assistant", CALL, usage={"outputTokens": 7, "inputTokens": 3})
    with collected(tmp_path) as store:
        for run in ({"status": "in-progress"}, {"status": "done", "result": {"output": "made"}}):
            write(tmp_path, message(0, "user", said("go")), asked, message(2, "user", ran(**run)))
            collect(store, tmp_path)
        kinds = [(event.kind, event.summary) for event in events_of(store, UID)]
        assert kinds == [("user_msg", "go"), ("tool_call", "make"), ("tool_result", "made")]
        assert len(usage_of(store, UID)) == 1
        check_sound(store)


@pytest.mark.parametrize("tool", ["create_file", "edit_file"])
def test_tools_that_change_files_are_edits(tmp_path: Path, tool: str) -> None:
    edit = {**CALL, "name": tool, "input": {"path": "a.py", "old_str": "1", "new_str": "2"}}
    done = ran(status="done", result={"diff": "-1\n+2\n", "lineRange": [1, 1]})
    write(tmp_path, message(1, "assistant", edit), message(2, "user", done))
    with collected(tmp_path) as store:
        asked, result = events_of(store, UID)
        assert (asked.kind, asked.path) == ("edit", "a.py")
        assert result.summary == "-1 +2"


def test_an_answer_that_streams_waits_and_is_counted_once(tmp_path: Path) -> None:
    used = {"model": "claude-sonnet-4-5", "inputTokens": 3, "outputTokens": 1}
    with collected(tmp_path) as store:
        for text, state, output in (("I", "streaming", 1), ("I see.", "complete", 9)):
            usage = {**used, "outputTokens": output, "timestamp": f"2026-11-16T18:00:0{output}Z"}
            answer = message(1, "assistant", said(text), state={"type": state}, usage=usage)
            write(tmp_path, message(0, "user", said("go")), answer)
            collect(store, tmp_path)
        assert [event.summary for event in events_of(store, UID)] == ["go", "I see."]
        assert [usage.output_tokens for usage in usage_of(store, UID)] == [9]


@pytest.mark.parametrize(
    ("run", "text", "is_person"),
    [
        ({"status": "error", "error": {"message": "no such file"}}, "no such file", False),
        ({"status": "rejected-by-user"}, "", True),
        ({"status": "cancelled", "reason": "user"}, "", True),
        ({"status": "done", "result": {"output": "no", "exitCode": 2}}, "no", False),
    ],
)
def test_what_counts_as_an_error(
    tmp_path: Path, run: dict[str, Any], text: str, is_person: bool
) -> None:
    write(tmp_path, message(1, "assistant", CALL), message(2, "user", ran(**run)))
    with collected(tmp_path) as store:
        event = events_of(store, UID)[-1]
        assert (event.kind, event.is_error, event.summary) == ("error", True, text)
        assert event.is_a("human_intervention") == is_person


def test_a_prompt_that_is_edited_leaves_the_old_answers_on_a_branch(tmp_path: Path) -> None:
    first = [message(0, "user", said("go")), message(1, "assistant", said("gone"))]
    again = [message(2, "user", said("left")), message(3, "assistant", said("went left"))]
    write(tmp_path, *first, *again)
    with collected(tmp_path) as store:
        write(tmp_path, *first, message(2, "user", said("right")))
        collect(store, tmp_path)
        found = {event.summary: event.branch for event in events_of(store, UID)}
        assert found["left"] is not None and found["went left"] is not None
        assert found["gone"] is None and found["right"] is None
        check_sound(store)
