"""Cursor under the contract that every adapter keeps, and what its lines become."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.cursor import AGENT as adapter
from session_memory.adapters.cursor.prompts import time_in, words_in
from session_memory.core.schema import SessionEvent
from session_memory.core.time import format_time
from session_memory.store import Store
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import collected, events_of
from session_memory.views.cost import CostFilter, cost_report

pytestmark = pytest.mark.only("sqlite")

DATA = Path(__file__).parent.parent / "data" / "cursor" / "basic" / "home"
NAME = "0d9c8b7a-1111-4222-8333-444455556666"


class TestTranscripts(AdapterContract):
    adapter = adapter
    samples = DATA
    is_line_based = False
    has_usage = False


def transcript(tmp_path: Path, *lines: Any, ending: str = "jsonl") -> Path:
    place = tmp_path / ".cursor" / "projects" / "home-mira-app" / "agent-transcripts"
    place.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (place / f"{NAME}.{ending}").write_text(text)
    return tmp_path


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(parts)}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def only_events(store: Store) -> list[SessionEvent]:
    (uid,) = store.sessions.uids()
    return events_of(store, uid)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("Friday, May 8, 2026, 6:05 AM (UTC+5:30)", "2026-05-08T00:35:00.000Z"),
        ("Monday, Oct 5, 2026, 12:05 PM (UTC-5)", "2026-10-05T17:05:00.000Z"),
        ("Sunday, Sep 20, 2026, 12:31 AM (UTC)", "2026-09-20T00:31:00.000Z"),
        ("Monday, Jan 1, 2024", None),
        ("Friday, Foo 8, 2026, 6:05 AM (UTC+1)", None),
        ("Friday, May 88, 2026, 6:05 AM (UTC+99)", None),
    ],
)
def test_the_time_before_a_prompt_is_read(written: str, moment: str | None) -> None:
    at = time_in(f"<timestamp>{written}</timestamp>\n<user_query>x</user_query>")
    assert (None if at is None else format_time(at)) == moment


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("<user_query>\nfix it\n</user_query>", "fix it"),
        ("<attached_files>\na\n</attached_files>\n<user_query>go</user_query>", "go"),
        ("<timestamp>now</timestamp>\nadd a screen", "add a screen"),
        ("a <b> c", "a <b> c"),
        ("<system_notification>done</system_notification>", ""),
        ("<user_query>never closed", "never closed"),
    ],
)
def test_only_what_a_person_typed_is_the_prompt(sent: str, typed: str) -> None:
    assert words_in(sent) == typed


def test_what_cursor_says_itself_is_no_prompt(tmp_path: Path) -> None:
    own = "<user_query>The above subagent result is already visible to the user.</user_query>"
    notice = "<system_notification>The task has finished.</system_notification>"
    lines = [said("user", text(words)) for words in (own, notice, "<user_query>hi</user_query>")]
    with collected(transcript(tmp_path, *lines)) as store:
        assert [event.kind for event in only_events(store)] == [
            "lifecycle",
            "lifecycle",
            "user_msg",
        ]


def test_a_session_has_no_tokens_and_reports_say_so() -> None:
    with collected(DATA) as store:
        report = cost_report(store, CostFilter())
        assert report.totals.tokens == 0
        assert report.to_dict()["notes"] == {
            "cursor": "logs no tokens, so its sessions are in no cost"
        }


def test_results_are_connected_where_a_version_logs_them(tmp_path: Path) -> None:
    call = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}, "id": "c1"}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
    odd = [said("assistant", {"type": ["x"]}, 7, None), said("assistant"), {"role": 5}]
    with collected(transcript(tmp_path, said("assistant", call), said("user", result), *odd)) as s:
        first, second, *rest = only_events(s)
        assert (first.call_id, second.call_id, second.is_error) == ("c1", "c1", True)
        assert rest and not list(s.problems.every())


def test_text_beside_json_lines_is_not_read_twice(tmp_path: Path) -> None:
    transcript(tmp_path, "user:", "<user_query>", "a", "</user_query>", ending="txt")
    with collected(tmp_path) as store:
        assert [event.summary for event in only_events(store)] == ["a"]
    transcript(tmp_path, said("user", text("<user_query>a</user_query>")))
    with collected(tmp_path) as store:
        assert len(list(store.sources.every())) == 1


def test_an_old_transcript_gives_thoughts_calls_and_results() -> None:
    with collected(DATA) as store:
        (old,) = [uid for uid in store.sessions.uids() if uid.startswith("cursor:c7e0")]
        events = events_of(store, old)
        assert [event.kind for event in events] == [
            *("lifecycle", "user_msg", "thinking", "assistant_msg", "tool_call"),
            *("tool_result", "assistant_msg"),
        ]
        assert events[1].summary == "Why does the import fail? It worked yesterday."
        assert events[4].call_id == events[5].call_id
        assert events[6].summary == "The date has a German month. Use the other pattern."
