"""Copilot CLI under the contract that every adapter keeps, and what its events become."""

import json
import time
from pathlib import Path
from typing import Any

from session_memory.adapters.copilot import AGENT as adapter
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    collect,
    collected,
    events_of,
    every_usage,
    new_store,
)

DATA = Path(__file__).parent.parent / "data" / "copilot"


class TestRecordedSessions(AdapterContract):
    adapter = adapter
    samples = DATA / "basic" / "home"
    unknown = b'{"type":"moon.phase","data":{"message":"waxing"},"id":"u1","parentId":null}\n'


def event(kind: str, number: int, **data: Any) -> dict[str, Any]:
    before = f"e{number - 1}" if number else None
    at = f"2026-06-23T05:17:{number:02}.000Z"
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": at, "parentId": before}


def write(home: Path, *lines: dict[str, Any], name: str = "s1") -> None:
    place = home / ".copilot" / "session-state" / name
    place.mkdir(parents=True, exist_ok=True)
    start = event("session.start", 0, sessionId=name, producer="copilot-agent", version=1)
    text = "".join(json.dumps(line) + "\n" for line in (start, *lines))
    (place / "events.jsonl").write_text(text)


def ended(number: int, sent: int, given: int) -> dict[str, Any]:
    used = {"inputTokens": sent, "outputTokens": given, "cacheReadTokens": 10}
    return event("session.shutdown", number, modelMetrics={"gpt-5": {"usage": used}})


def test_the_sums_of_a_session_that_was_resumed_count_once(tmp_path: Path) -> None:
    said = event("user.message", 1, content="make it work")
    write(tmp_path, said, ended(2, 100, 7), event("session.resume", 3), ended(4, 160, 12))
    with collected(tmp_path) as store:
        cost = store.sessions.get("copilot:s1").cost
        assert (cost.input_tokens, cost.output_tokens, cost.cache_read_tokens) == (150, 12, 10)


def test_a_sum_holds_nothing_new_if_every_request_was_logged(tmp_path: Path) -> None:
    used = {"model": "gpt-5", "inputTokens": 100, "outputTokens": 7, "cacheReadTokens": 10}
    write(
        tmp_path,
        event("user.message", 1, content="make it work"),
        event("session.usage_record", 2, usage={**used, "apiCallId": "r1"}),
        event("assistant.message", 3, content="Done.", model="gpt-5", apiCallId="r1"),
        ended(4, 100, 7),
    )
    with collected(tmp_path) as store:
        assert [usage.usage_id for usage in every_usage(store)] == ["r1"]
        assert store.sessions.get("copilot:s1").cost.output_tokens == 7


ORIGIN, COPY = (f"{number}0000000-0000-4000-8000-000000000000" for number in (1, 2))


def forked(number: int, origin: str, copy: str) -> dict[str, Any]:
    said = f'Forked from "Mend (old)" ({origin}) as "Mend (old) (fork)" ({copy}).'
    return event("session.info", number, infoType="fork", message=said)


def test_a_fork_names_its_origin_and_a_fork_of_it_names_the_fork(tmp_path: Path) -> None:
    """A fork copies the log, also the line that says that the origin is a fork itself."""
    said = event("user.message", 1, content="make it work")
    into = event("session.info", 2, infoType="fork", message=f'Forked into "x" ({COPY}).')
    write(tmp_path, said, into, name=ORIGIN)
    again = COPY.replace("2", "3")
    write(tmp_path, said, {**forked(2, ORIGIN, COPY), "id": "f1"}, name=COPY)
    copies = {**forked(2, ORIGIN, COPY), "id": "f1"}, {**forked(3, COPY, again), "id": "f2"}
    write(tmp_path, said, *copies, name=again)
    with collected(tmp_path) as store:
        found = {one.session_uid: (one.relation, one.parent_uid) for one in store.sessions.every()}
        assert found == {
            f"copilot:{ORIGIN}": (None, None),
            f"copilot:{COPY}": ("fork", f"copilot:{ORIGIN}"),
            f"copilot:{again}": ("fork", f"copilot:{COPY}"),
        }


def test_what_a_person_took_back_stays_as_an_abandoned_branch(tmp_path: Path) -> None:
    """Copilot removes the lines from its log. They stay if a sync read them before."""
    said = event("user.message", 1, content="make it work")
    answered = event("assistant.message", 2, content="It works.", model="gpt-5")
    write(tmp_path, said, answered)
    with new_store() as store:
        collect(store, tmp_path)
        back = event("session.info", 1, infoType="rewind", message="Rewound the conversation.")
        again = event("user.message", 2, content="make it quick")
        write(tmp_path, {**back, "id": "i1"}, {**again, "id": "u1", "parentId": "i1"})
        collect(store, tmp_path)
        events = events_of(store, "copilot:s1")
        assert [event.summary for event in events if event.branch] == ["make it work", "It works."]
        assert events[3].kind == "human_intervention" and events[3].branch is None


def test_a_call_that_no_model_made_is_no_call(tmp_path: Path) -> None:
    """Copilot itself reads what a subagent in the background answered, and logs that as a call."""
    started = [{"toolCallId": "c1", "name": "task", "arguments": {}, "type": "function"}]
    reads = [{"toolCallId": "c2", "name": "read_agent", "arguments": {"agent_id": "a1"}}]
    write(
        tmp_path,
        event("user.message", 1, content="look around"),
        event("assistant.message", 2, content="", model="gpt-5", toolRequests=started),
        event("tool.execution_complete", 3, toolCallId="c1", success=True),
        event("assistant.message", 4, content="", toolRequests=reads),
        event("tool.execution_complete", 5, toolCallId="c2", result={"content": "Three files."}),
        event("assistant.message", 6, content="Done.", model="gpt-5"),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "copilot:s1")[2:]
        assert [(one.kind, one.call_id, one.summary) for one in events] == [
            ("tool_call", "c1", ""),
            ("tool_result", "c1", ""),
            ("lifecycle", None, "[read_agent]"),
            ("lifecycle", None, "Three files."),
            ("assistant_msg", None, "Done."),
        ]


def test_a_call_whose_question_a_person_closed_has_failed(tmp_path: Path) -> None:
    """With Escape, Copilot aborts the turn and logs no result of the call."""
    made = [{"toolCallId": "c1", "name": "create", "arguments": {"path": "x.txt"}}]
    result = {"kind": "cancelled", "reason": "Session aborted"}
    write(
        tmp_path,
        event("user.message", 1, content="write it"),
        event("assistant.message", 2, content="", model="gpt-5", toolRequests=made),
        event("permission.requested", 3, requestId="p1"),
        event("permission.completed", 4, requestId="p1", toolCallId="c1", result=result),
        event("abort", 5, reason="user_initiated"),
        event("tool.execution_complete", 6, toolCallId="c1", success=False),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "copilot:s1")
        (failed,) = [one for one in events if one.is_a("tool_result")]
        assert (failed.call_id, failed.is_error, failed.summary) == ("c1", True, "Session aborted")
        assert failed.is_a("human_intervention")


def test_a_log_that_names_no_models_has_all_its_calls(tmp_path: Path) -> None:
    made = [{"toolCallId": "c1", "name": "bash", "arguments": {"command": "ls"}}]
    write(tmp_path, event("assistant.message", 1, content="", toolRequests=made))
    with collected(tmp_path) as store:
        assert [one.call_id for one in events_of(store, "copilot:s1")][1:] == ["c1"]


def test_what_a_subagent_is_told_is_no_prompt_of_a_person(tmp_path: Path) -> None:
    write(
        tmp_path,
        event("user.message", 1, content="look around"),
        {**event("user.message", 2, content="list the files"), "agentId": "explore"},
        {**event("assistant.message", 3, content="Three files."), "agentId": "explore"},
        event("assistant.message", 4, content="Done."),
        event("abort", 5, reason="user initiated"),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "copilot:s1")
        assert [one.summary for one in events if one.is_a("user_msg")] == ["look around"]
        assert [one.summary for one in events if one.is_sidechain] == [
            "list the files",
            "Three files.",
        ]
        assert events[-1].kind == "human_intervention"


def test_the_name_that_a_person_gave_is_the_title(tmp_path: Path) -> None:
    write(tmp_path, event("user.message", 1, content="make it blue"))
    about = tmp_path / ".copilot" / "session-state" / "s1" / "workspace.yaml"
    about.write_text("id: s1\nname: The blue button\nuser_named: true\n")
    with collected(tmp_path) as store:
        assert store.sessions.get("copilot:s1").title == "The blue button"


def test_a_compaction_counts_beside_the_sums_of_the_session(tmp_path: Path) -> None:
    used = {"model": "gpt-5", "inputTokens": 80, "outputTokens": 9, "cacheReadTokens": 30}
    compacted = event("session.compaction_complete", 1, compactionTokensUsed=used)
    write(tmp_path, event("user.message", 0, content="Go."), compacted, ended(2, 100, 10))
    with collected(tmp_path) as store:
        found = every_usage(store)
    assert sorted((one.input_tokens, one.output_tokens) for one in found) == [(50, 9), (90, 10)]


def test_the_name_that_copilot_gave_is_the_title_and_any_name_is_read_at_once(
    tmp_path: Path,
) -> None:
    write(tmp_path, event("user.message", 1, content="make it work"))
    about = tmp_path / ".copilot" / "session-state" / "s1" / "workspace.yaml"
    about.write_text("name: The red button \nuser_named: false\n")
    with collected(tmp_path) as store:
        assert store.sessions.get("copilot:s1").title == "The red button"
    about.write_text(f"name: a b{' ' * 200_000}c \nuser_named: true \n")
    started = time.process_time()
    with collected(tmp_path) as store:
        assert store.sessions.get("copilot:s1").title == "a b"
    assert time.process_time() - started < 5


def test_a_root_with_dots_gives_a_log_that_can_be_restored(tmp_path: Path) -> None:
    write(tmp_path, event("user.message", 1, content="make it work"))
    gathered = tmp_path / "gathered"
    (gathered / "below").mkdir(parents=True)
    log = tmp_path / ".copilot" / "session-state" / "s1" / "events.jsonl"
    log.rename(gathered / "events.jsonl")
    with collected(gathered / "below" / "..") as store:
        [source] = store.db.all("select path, home_path from sources")
        place = ".copilot/session-state/gathered/events.jsonl"
        assert source == (str(gathered / "events.jsonl"), place)
