"""pi under the contract that every adapter keeps, and what its entries become."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.pi import AGENT as adapter
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import collected, events_of, every_usage

DATA = Path(__file__).parent.parent / "data" / "pi"
UNKNOWN = b'{"type":"moon_phase","id":"0a0a0a0a","parentId":null,"label":"waxing"}\n'


@pytest.mark.parametrize("scenario", ["basic", "fork"])
class TestRecordedSessions(AdapterContract):
    adapter = adapter
    unknown = UNKNOWN

    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = DATA / scenario / "home"


def entry(own: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    at = "2026-11-15T07:04:25.912Z"
    return {"type": "message", "id": own, "parentId": parent, "timestamp": at, **fields}


def prompt(own: str, parent: str | None, text: str) -> dict[str, Any]:
    return entry(own, parent, message={"role": "user", "content": [{"type": "text", "text": text}]})


def answer(own: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    said = [{"type": "text", "text": "Done."}]
    used = {"input": 5, "output": 7, "cacheRead": 11, "cacheWrite": 13}
    message = {"role": "assistant", "content": said, "usage": used, "stopReason": "stop"}
    known = {"model": "gpt-5.5", "provider": "openai", "responseId": f"resp-{own}"}
    return entry(own, parent, message={**message, **known, **fields})


def log(directory: Path, name: str, *entries: dict[str, Any], **header: Any) -> Path:
    """A home with one more session of pi."""
    place = directory / ".pi" / "agent" / "sessions" / "--home-mira-app--"
    place.mkdir(parents=True, exist_ok=True)
    head = {"type": "session", "version": 3, "id": name, "timestamp": "2026-11-15T07:04:25.912Z"}
    lines = [{**head, "cwd": "/home/mira/app", **header}, *entries]
    path = place / f"2026-11-15T07-04-25-912Z_{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_branch_that_the_session_left_is_abandoned(tmp_path: Path) -> None:
    log(
        tmp_path,
        "s1",
        prompt("a1", None, "make it work"),
        answer("a2", "a1"),
        prompt("a3", "a2", "now in red"),
        answer("a4", "a3"),
        prompt("a5", "a2", "now in blue"),
        answer("a6", "a5"),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "pi:s1")
        left = [event.summary for event in events if event.branch]
        assert left == ["now in red", "Done."]
        assert [event.parent_seq for event in events] == [None, 0, 1, 2, 1, 4]


def test_a_fork_counts_once_what_it_copied(tmp_path: Path) -> None:
    shared = (prompt("a1", None, "make it work"), answer("a2", "a1"))
    first = log(tmp_path, "s1", *shared)
    log(tmp_path, "s2", *shared, prompt("b1", "a2", "and fast"), parentSession=str(first))
    # Another session that happens to have the same short ids.
    later = {**prompt("a1", None, "hello"), "timestamp": "2026-11-16T01:00:00.000Z"}
    log(tmp_path, "s3", later, answer("a2", "a1", responseId="other"))
    with collected(tmp_path) as store:
        found = {session.session_uid: session for session in store.sessions.every()}
        assert found["pi:s2"].parent_uid == "pi:s1" and found["pi:s2"].relation == "fork"
        assert found["pi:s3"].parent_uid is None
        assert sum(session.cost.output_tokens for session in found.values()) == 7 + 7


@pytest.mark.parametrize(
    ("stop", "kind"), [("aborted", "human_intervention"), ("error", "error"), ("length", None)]
)
def test_an_answer_that_was_broken_off_says_how(
    tmp_path: Path, stop: str, kind: str | None
) -> None:
    broken = answer("a2", "a1", stopReason=stop, errorMessage="529 overloaded")
    log(tmp_path, "s1", prompt("a1", None, "make it work"), broken)
    with collected(tmp_path) as store:
        kinds = [event.kind for event in events_of(store, "pi:s1")]
        assert kinds == ["user_msg", "assistant_msg", *([kind] if kind else [])]
        # The figures of an answer that was broken off are not those of a response.
        assert store.sessions.get("pi:s1").cost.output_tokens == (0 if kind else 7)


def test_a_call_in_an_answer_that_was_broken_off_was_never_made(tmp_path: Path) -> None:
    content = [{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}]
    broken = answer("a2", "a1", content=content, stopReason="error", errorMessage="terminated")
    log(tmp_path, "s1", prompt("a1", None, "make it work"), broken)
    with collected(tmp_path) as store:
        _, begun, error = events_of(store, "pi:s1")
        assert (begun.kind, begun.summary, error.kind) == ("lifecycle", "[bash]", "error")


def test_a_name_is_the_title_and_a_seller_is_part_of_the_model(tmp_path: Path) -> None:
    info = entry("a3", "a2", type="session_info", name="The blue button")
    answered = answer("a2", "a1", provider="github-copilot")
    log(tmp_path, "s1", prompt("a1", None, "make it blue"), answered, info)
    with collected(tmp_path) as store:
        assert store.sessions.get("pi:s1").title == "The blue button"
        assert [usage.model for usage in every_usage(store)] == ["github-copilot/gpt-5.5"]


def test_logs_of_version_1_have_no_ids(tmp_path: Path) -> None:
    entries = [prompt("", None, "make it work"), answer("", None, responseId="r1")]
    for one in entries:
        del one["id"], one["parentId"]
    log(tmp_path, "s1", *entries, version=1)
    with collected(tmp_path) as store:
        events = events_of(store, "pi:s1")
        assert [event.kind for event in events] == ["user_msg", "assistant_msg"]
        assert store.sessions.get("pi:s1").cost.output_tokens == 7


def test_a_summary_counts_for_the_model_of_the_answer_before() -> None:
    sample = Path(__file__).parent.parent / "data" / "conformance" / "pi" / "compact"
    with collected(sample / "home") as store:
        found = {one.usage_id: one for one in every_usage(store)}
    (summary,) = [one for name, one in found.items() if name.startswith("pi@")]
    assert (summary.model, summary.input_tokens, summary.output_tokens) == (
        "scripted-model",
        3157,
        233,
    )
    assert len(found) == 5


def test_requests_without_a_message_count_under_their_own_model(tmp_path: Path) -> None:
    at = "2026-11-15T07:04:25.912Z"
    warm = {"type": "usage", "kind": "cache_warm", "id": "a3", "parentId": "a2", "timestamp": at}
    sold = {"provider": "openrouter", "model": "opus"}
    spent = {"input": 3, "output": 1, "cacheRead": 50_000, "cacheWrite": 0, "cost": {"total": 0.5}}
    log(
        tmp_path,
        "s1",
        prompt("a1", None, "make it work"),
        answer("a2", "a1"),
        {**warm, **sold, "usage": spent},
    )
    with collected(tmp_path) as store:
        found = {one.model: one for one in every_usage(store)}
        assert set(found) == {"gpt-5.5", "openrouter/opus"}
        assert found["openrouter/opus"].cache_read_tokens == 50_000
        assert events_of(store, "pi:s1")[-1].summary == "cache_warm"
        assert not store.problems.every()


def test_models_that_a_tool_asked_count_and_have_no_name(tmp_path: Path) -> None:
    said = [{"type": "text", "text": "3 of 4 files are tests"}]
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "codemode", "content": said}
    spent = {"input": 40, "output": 4, "totalTokens": 44, "cost": {"total": 0.25}}
    call = [{"type": "toolCall", "id": "c1", "name": "codemode", "arguments": {"code": "go()"}}]
    log(
        tmp_path,
        "s1",
        prompt("a1", None, "which files are tests?"),
        answer("a2", "a1", content=call, stopReason="toolUse"),
        entry("a3", "a2", message={**result, "isError": False, "usage": spent}),
        entry("a4", "a3", message={**result, "toolCallId": "c2", "isError": False}),
    )
    with collected(tmp_path) as store:
        found = {one.model: (one.input_tokens, one.output_tokens) for one in every_usage(store)}
    assert found == {"gpt-5.5": (5, 7), "unknown": (40, 4)}


def test_a_system_message_names_its_sections(tmp_path: Path) -> None:
    first = {"role": "system", "content": "", "sections": {"preamble": "You are", "cwd": "/home"}}
    later = {"role": "system", "content": [{"type": "text", "text": "Now be brief."}]}
    log(
        tmp_path,
        "s1",
        entry("a1", None, message=first),
        prompt("a2", "a1", "make it work"),
        entry("a3", "a2", message=later),
    )
    with collected(tmp_path) as store:
        events = events_of(store, "pi:s1")
    assert [(one.kind, one.native_kind, one.summary) for one in events] == [
        ("lifecycle", "message/system", "preamble, cwd"),
        ("user_msg", "user/text", "make it work"),
        ("lifecycle", "message/system", "Now be brief."),
    ]


def test_a_second_header_is_no_event_and_changes_nothing(tmp_path: Path) -> None:
    header = {"type": "session", "version": 3, "id": "s2", "timestamp": "2026-11-15T07:04:25.912Z"}
    log(tmp_path, "s1", prompt("a1", None, "make it work"), header, answer("a2", "a1"))
    with collected(tmp_path) as store:
        [session] = store.sessions.every()
        assert session.session_uid == "pi:s1" and len(events_of(store, "pi:s1")) == 2


def test_a_file_that_ends_like_a_failed_command_is_no_error(tmp_path: Path) -> None:
    shown = [{"type": "text", "text": "Command exited with code 2"}]
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": shown}
    log(tmp_path, "s1", prompt("a1", None, "look"), entry("a2", "a1", message=result))
    with collected(tmp_path) as store:
        assert not any(one.is_error for one in events_of(store, "pi:s1"))
