"""Tasks of Cline, Roo Code and Kilo Code in an editor."""

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from session_memory.adapters.cline import AGENT as cline
from session_memory.adapters.cline.layout import EXTENSION as CLINE
from session_memory.adapters.editor_tasks.layout import MESSAGES
from session_memory.adapters.kilo.source import EXTENSION as KILO
from session_memory.adapters.roo import AGENT as roo
from session_memory.adapters.roo.source import EXTENSION as ROO
from session_memory.derive.ingest import Ingest
from session_memory.testing.adapters import AdapterContract, BytesSource
from session_memory.testing.collecting import (
    check_restores,
    check_sound,
    collect,
    collected,
    events_of,
    usage_of,
)

DATA = Path(__file__).parent.parent / "data" / "roo"
START = 1794851457000


class TestRooTask(AdapterContract):
    adapter = roo
    samples = DATA / "task" / "home"
    unknown = b'{"message":{"ts":1794851457999,"type":"say","say":"moon","text":"waxing"}}\n'

    def _logs(self) -> Iterator[BytesSource]:
        # What the model gets is kept and gives no events.
        return (one for one in super()._logs() if one.ref.path.name == MESSAGES)

    def test_logs_gathered_in_a_directory_are_found_as_well(self, tmp_path: Path) -> None:
        """A loose document does not say whose it is, so it is Cline's. A copied home says it."""
        (document,) = self.samples.rglob(MESSAGES)
        (tmp_path / "loose" / "1").mkdir(parents=True)
        (tmp_path / "loose" / "1" / MESSAGES).write_bytes(document.read_bytes())
        assert list(roo.discover(tmp_path / "loose")) == []
        copytree(self.samples, tmp_path / "backup" / "laptop")
        found = list(roo.discover(tmp_path / "backup"))
        assert [one.path.name for one in found] == [MESSAGES]

    def test_tasks_of_the_program_for_a_terminal_are_found(self, tmp_path: Path) -> None:
        (document,) = self.samples.rglob(MESSAGES)
        storage = tmp_path / ".vscode-mock" / "global-storage"
        assert storage not in roo.roots({}, tmp_path)
        copytree(document.parent, storage / "tasks" / "t1")
        assert storage in roo.roots({}, tmp_path)
        for root in (tmp_path, storage):
            (found,) = roo.discover(root)
            expected = ("t1", f".vscode-mock/global-storage/tasks/t1/{MESSAGES}")
            assert (found.session, found.home_path) == expected
        assert not list(cline.discover(tmp_path))


def say(number: int, kind: str, text: str = "", **fields: Any) -> dict[str, Any]:
    return {"ts": START + number, "type": "say", "say": kind, "text": text, **fields}


def ask(number: int, kind: str, text: str = "", **fields: Any) -> dict[str, Any]:
    return {"ts": START + number, "type": "ask", "ask": kind, "text": text, **fields}


def request(number: int, **used: Any) -> dict[str, Any]:
    return say(number, "api_req_started", json.dumps(used))


def write(home: Path, *messages: dict[str, Any], extension: str = CLINE) -> Path:
    place = home / ".config/Code/User/globalStorage" / extension / "tasks" / "17948"
    place.mkdir(parents=True, exist_ok=True)
    (place / "ui_messages.json").write_text(json.dumps(messages))
    return place


COUNTS = {"tokensIn": 500, "tokensOut": 9, "cacheReads": 300, "cacheWrites": 100, "cost": 0.01}


@pytest.mark.parametrize(
    ("extension", "uid", "sent"),
    [(CLINE, "cline:17948", 500), (ROO, "roo:17948", 100), (KILO, "kilo:17948", 100)],
)
def test_each_extension_has_its_flavor_and_its_way_to_count(
    tmp_path: Path, extension: str, uid: str, sent: int
) -> None:
    model = {"modelInfo": {"providerId": "anthropic", "modelId": "claude-sonnet-4-5"}}
    said = (say(1, "text", "go"), request(2, **COUNTS) | model, say(3, "text", "gone"))
    write(tmp_path, *said, extension=extension)
    with collected(tmp_path) as store:
        assert store.sessions.uids() == [uid]
        (usage,) = usage_of(store, uid)
        assert (usage.input_tokens, usage.output_tokens) == (sent, 9)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (300, 100)
        assert (usage.model, usage.reported_cost) == ("claude-sonnet-4-5", 10_000)
        assert [event.tokens for event in events_of(store, uid)] == [0, 9]
        check_sound(store)
        check_restores(store, None, tmp_path / "again")


def test_a_request_counts_once_however_often_it_is_written(tmp_path: Path) -> None:
    with collected(tmp_path) as store:
        for messages in (
            [request(2)],
            [request(2), say(3, "text", "I", partial=True)],
            [request(2, **COUNTS), say(3, "text", "I look.")],
            [request(2, **COUNTS), say(3, "text", "I look."), ask(4, "command", "ls")],
        ):
            write(tmp_path, say(1, "text", "look"), *messages)
            collect(store, tmp_path)
        assert [event.summary for event in events_of(store, "cline:17948")] == [
            *("look", "I look.", "ls")
        ]
        assert len(usage_of(store, "cline:17948")) == 1
        check_sound(store)


def test_the_output_of_a_command_follows_an_empty_question(tmp_path: Path) -> None:
    """So Roo Code logs it, both messages with the same time [run: cli 0.1.17]."""
    failed = "F\n======\nFAIL: test_add\n------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n"
    write(
        tmp_path,
        say(1, "text", "test it"),
        ask(2, "command", "python3 -m unittest"),
        ask(3, "command_output"),
        say(3, "command_output", failed),
        say(4, "completion_result", "It fails."),
        extension=ROO,
    )
    with collected(tmp_path) as store:
        events = events_of(store, "roo:17948")
        assert [event.kind for event in events] == [
            *("user_msg", "test_run", "error", "assistant_msg")
        ]
        assert events[1].call_id == events[2].call_id
        check_sound(store)


def test_what_a_person_says_and_stops(tmp_path: Path) -> None:
    tool = json.dumps({"tool": "editedExistingFile", "path": "a.py", "diff": "-a\n+b"})
    question = json.dumps({"question": "Which one?", "options": ["a", "b"]})
    write(
        tmp_path,
        say(1, "task", "go"),
        ask(2, "tool", tool),
        say(3, "user_feedback", "not this file"),
        ask(4, "followup", question),
        say(5, "user_feedback", "b"),
        request(6, cancelReason="user_cancelled", tokensIn=1, tokensOut=0),
        say(7, "completion_result", "Done.", modelInfo={"modelId": "opus"}),
        say(8, "user_feedback", "thanks"),
        request(9, cancelReason="streaming_failed", streamingFailedMessage="overloaded"),
        say(10, "api_req_retried"),
        say(11, "error", "it broke"),
    )
    with collected(tmp_path) as store:
        told = [(e.kind, e.summary) for e in events_of(store, "cline:17948")]
    assert told == [
        ("user_msg", "go"),
        ("edit", "a.py"),
        ("error", ""),
        ("human_intervention", "not this file"),
        ("assistant_msg", "Which one?"),
        ("decision", "b"),
        ("human_intervention", "Request cancelled."),
        ("assistant_msg", "Done."),
        ("user_msg", "thanks"),
        ("error", "overloaded"),
        ("lifecycle", ""),
        ("error", "it broke"),
    ]


def test_a_command_without_output_has_ended_when_the_agent_goes_on(tmp_path: Path) -> None:
    write(tmp_path, say(1, "text", "go"), ask(2, "command", "true"), request(3))
    with collected(tmp_path) as store:
        _, call, result = events_of(store, "cline:17948")
        assert call.is_a("tool_call") and result.is_a("tool_result")
        assert call.call_id == result.call_id


def test_requests_that_were_deleted_count_if_nobody_has_seen_them(tmp_path: Path) -> None:
    deleted = say(5, "deleted_api_reqs", json.dumps(COUNTS))
    write(tmp_path, say(1, "text", "go"), deleted)
    with collected(tmp_path) as store:
        assert len(usage_of(store, "cline:17948")) == 1
    write(tmp_path, say(1, "text", "go"), request(2, **COUNTS), say(3, "text", "gone"))
    with collected(tmp_path) as store:
        write(tmp_path, say(1, "text", "go"), deleted)
        collect(store, tmp_path)
        assert len(usage_of(store, "cline:17948")) == 1
        assert events_of(store, "cline:17948")[1].branch is not None


def test_a_subtask_of_roo_names_its_parent(tmp_path: Path) -> None:
    place = write(tmp_path, say(1, "text", "go"), extension=ROO)
    item = {"id": "17948", "parentTaskId": "17947", "workspace": "/home/mira/code/app"}
    (place / "history_item.json").write_text(json.dumps(item))
    with collected(tmp_path) as store:
        (session,) = store.sessions.every()
        assert (session.parent_uid, session.cwd) == ("roo:17947", "/home/mira/code/app")


def test_a_task_that_grows_is_not_derived_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the model gets has no times, so it is read last. It gives nothing that could be late."""
    place = write(tmp_path, say(1, "text", "go"))
    text = "# Current Working Directory (/home/mira/code/app) Files"
    history = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    (place / "api_conversation_history.json").write_text(json.dumps(history))
    stale = []
    mark = Ingest._mark_stale
    monkeypatch.setattr(
        Ingest, "_mark_stale", lambda *given: (stale.append(given[2].path), mark(*given))
    )
    with collected(tmp_path) as store:
        write(tmp_path, say(1, "text", "go"), request(2, **COUNTS), say(3, "text", "gone"))
        collect(store, tmp_path)
        assert stale == []
        (session,) = store.sessions.every()
        assert session.cwd == "/home/mira/code/app"
        check_sound(store)
