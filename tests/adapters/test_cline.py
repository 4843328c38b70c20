"""Cline CLI under the contract that every adapter keeps, and what its messages become."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.cline import AGENT as adapter
from session_memory.derive.bodies import Bodies
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_restores,
    check_sound,
    collect,
    collected,
    events_of,
    usage_of,
)

DATA = Path(__file__).parent.parent / "data" / "cline"


@pytest.mark.parametrize("scenario", ["basic", "subagent"])
class TestRecordedSessions(AdapterContract):
    adapter = adapter
    unknown = b'{"message":{"id":"m9","role":"moon","content":"waxing"}}\n'

    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = DATA / scenario / "home"


def message(own: str, role: str, *blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"id": own, "role": role, "content": list(blocks), "ts": 1794851457082, **fields}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def typed(text: str, mode: str = "act") -> dict[str, Any]:
    return said(f'<user_input mode="{mode}">{text}</user_input>')


def result(call: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **fields}


def used(provider: str = "anthropic", **counts: Any) -> dict[str, Any]:
    return {"modelInfo": {"id": "claude-sonnet-4-5", "provider": provider}, "metrics": counts}


def write(home: Path, *messages: dict[str, Any]) -> Path:
    place = home / ".cline" / "data" / "sessions" / "s1"
    place.mkdir(parents=True, exist_ok=True)
    about = {"version": 1, "updated_at": "2026-11-16T17:51:00.388Z", "agent": "lead"}
    origin = {"source": "cli", "mode": "user", "version": "3.0.65"}
    document = {**about, "sessionId": "s1", "origin": origin, "messages": messages}
    path = place / "s1.messages.json"
    path.write_text(json.dumps({**document, "system_prompt": "(told)"}, indent=2))
    return path


def test_input_includes_the_cache_and_the_seller_is_part_of_a_models_name(tmp_path: Path) -> None:
    counts = {"inputTokens": 100, "outputTokens": 7, "cacheReadTokens": 60, "cacheWriteTokens": 30}
    write(
        tmp_path,
        message("m1", "user", typed("build it")),
        message("m2", "assistant", said("Built."), **used("openrouter", **counts, cost=0.0012)),
    )
    with collected(tmp_path) as store:
        (usage,) = usage_of(store, "cline:s1")
        assert (usage.input_tokens, usage.output_tokens) == (10, 7)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (60, 30)
        assert usage.model == "openrouter/claude-sonnet-4-5"
        assert usage.reported_cost == 1200


def test_a_prompt_is_what_the_person_typed_and_another_mode_is_a_decision(tmp_path: Path) -> None:
    around = said('<env>linux</env><user_input mode="act">do it</user_input>')
    write(
        tmp_path,
        message("m1", "user", typed("think first", "plan")),
        message("m2", "assistant", said("A plan.")),
        message("m3", "user", around),
    )
    with collected(tmp_path) as store:
        first, _, last = events_of(store, "cline:s1")
        assert (first.summary, last.summary) == ("think first", "do it")
        assert not first.is_a("decision") and last.is_a("decision")
        assert Bodies(store).of(last).text == around["text"]


@pytest.mark.parametrize(
    ("content", "text", "code"),
    [
        ([{"query": "ls", "result": "a.py\n", "success": True}], "a.py", None),
        (
            [{"result": "[Command exited with code 3]\n", "error": "no", "success": False}],
            "[Command exited with code 3] no",
            3,
        ),
        ('{"query":"edit:a.py","result":"Edited","success":true}', "Edited", None),
        ('{"error":"Tool was rejected"}', "Tool was rejected", None),
        ('{"name": "package"}', '{"name": "package"}', None),
        ([said("plain")], "plain", None),
        ("", "", None),
    ],
)
def test_results_in_all_their_forms(
    tmp_path: Path, content: Any, text: str, code: int | None
) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "run_commands", "input": {"commands": ["ls"]}}
    write(tmp_path, message("m1", "assistant", call), message("m2", "user", result("c1", content)))
    with collected(tmp_path) as store:
        event = events_of(store, "cline:s1")[-1]
        assert event.is_a("tool_result") and event.summary == text
        assert event.is_error == ("error" in str(content))
        assert event.exit_code == code or not event.is_error


def test_an_error_that_is_shown_is_no_answer(tmp_path: Path) -> None:
    about = {"displayOnly": True, "displayRole": "error"}
    write(tmp_path, message("error_1", "assistant", said("Error 400"), metadata=about))
    with collected(tmp_path) as store:
        (event,) = events_of(store, "cline:s1")
        assert (event.kind, event.role, event.summary) == ("error", "system", "Error 400")


def test_a_message_that_is_written_again_gives_what_is_new(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "read_files", "input": {"files": ["a.py"]}}
    write(tmp_path, message("m1", "assistant", said("I look.")))
    with collected(tmp_path) as store:
        write(tmp_path, message("m1", "assistant", said("I look."), call))
        collect(store, tmp_path)
        write(tmp_path, message("m1", "assistant", said("I look."), call), message("m2", "user"))
        collect(store, tmp_path)
        kinds = [event.kind for event in events_of(store, "cline:s1")]
        assert kinds == ["assistant_msg", "tool_call", "lifecycle"]
        assert Bodies(store).of(events_of(store, "cline:s1")[1]).arguments == {"files": ["a.py"]}


def test_a_broken_document_that_is_touched_keeps_its_problem(tmp_path: Path) -> None:
    path = write(tmp_path, message("m1", "user", typed("go")))
    about = path.with_name("s1.json")
    about.write_text("{broken")
    with collected(tmp_path) as store:
        os.utime(about, ns=(10**18, 10**18))
        collect(store, tmp_path)
        assert [problem.reason for problem in store.problems.every()] == ["malformed document"]


def test_a_document_that_no_longer_says_when_the_session_began(tmp_path: Path) -> None:
    path = write(tmp_path, message("m1", "user", typed("go")))
    about = path.with_name("s1.json")
    about.write_text('{"started_at": "2026-11-16T17:00:00.000Z"}')
    with collected(tmp_path) as store:
        (session,) = store.sessions.every()
        assert session.started_at == "2026-11-16T17:00:00.000Z"
        about.write_text("{}")
        collect(store, tmp_path)
        (session,) = store.sessions.every()
        assert session.started_at == "2026-11-16T17:50:57.082Z"


def test_a_compaction_is_kept_and_counts_nothing_twice(tmp_path: Path) -> None:
    counts = {"inputTokens": 100, "outputTokens": 7}
    answer = message("m2", "assistant", said("Built."), **used(**counts))
    path = write(tmp_path, message("m1", "user", typed("go")), answer)
    about = {"kind": "compaction_summary", "summary": "built"}
    summary = {"role": "user", "content": [said("Context summary: built")], "metadata": about}
    compacted = {"version": 1, "conversation_id": "s1", "messages": [summary, answer]}
    path.with_name("s1.compaction.json").write_text(json.dumps(compacted))
    with collected(tmp_path) as store:
        assert [event.summary for event in events_of(store, "cline:s1")] == ["go", "Built."]
        assert len(usage_of(store, "cline:s1")) == 1
        check_sound(store)
        check_restores(store, None, tmp_path / "again")
