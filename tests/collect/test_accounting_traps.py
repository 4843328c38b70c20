"""Thirteen ways to miscount a Claude Code log, and a model nobody knows: all come out exact."""

import json
from typing import Any

import pytest

from session_memory.core.schema import Cost, Usage
from session_memory.testing.claude import ClaudeHome, call, text, thinking, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    every_usage,
    new_store,
)

pytestmark = pytest.mark.every(3)

Counted = dict[str, tuple[int, int, int, int]]


def counted(claude: ClaudeHome) -> Counted:
    """Tokens by response: input, output, cache read, cache written. Sums are checked by the way."""
    with collected(claude.write()) as store:
        check_sound(store)
        used = every_usage(store)
        sessions = sum((session.cost for session in store.sessions.every()), Cost())
    assert sessions.output_tokens == sum(response.output_tokens for response in used)
    assert sessions.input_tokens == sum(response.input_tokens for response in used)
    return {response.usage_id: buckets(response) for response in used}


def buckets(used: Usage) -> tuple[int, int, int, int]:
    cached = used.cache_read_tokens, used.cache_write_tokens
    return used.input_tokens, used.output_tokens, *cached


def test_one_message_counts_once(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(7, input=11, read=1000, write=100))
    assert counted(claude) == {"msg_1": (11, 7, 1000, 100)}


def test_a_message_streamed_over_several_lines_counts_by_its_last_usage(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer(
        thinking("hm"),
        "I look.",
        call("Bash", command="ls"),
        id="msg_1",
        early=usage(2, input=11, read=1000),
        used=usage(70, input=11, read=1000),
    )
    assert counted(claude) == {"msg_1": (11, 70, 1000, 0)}


def test_a_streamed_message_without_a_request_id_counts_once_too(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer(
        "a", "b", "c", id="msg_1", early=usage(1, input=5), used=usage(9, input=5), requestId=...
    )
    assert counted(claude) == {"msg_1": (5, 9, 0, 0)}


def test_a_tool_result_between_two_lines_of_a_message_does_not_split_it(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer(call("Read", file_path="a.py"), id="msg_1", used=usage(30), stop="tool_use")
    log.result("contents of a")
    log.answer(call("Read", file_path="b.py"), id="msg_1", used=usage(40), stop="tool_use")
    log.result("contents of b")
    log.answer("both read", id="msg_2", used=usage(5))
    assert counted(claude) == {"msg_1": (3, 40, 0, 0), "msg_2": (3, 5, 0, 0)}


def test_a_rewound_branch_was_billed_and_counts(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    fork_at = log.answer("hello", id="msg_1", used=usage(1))[0]
    log.prompt("do it this way")
    log.answer("did it this way", id="msg_2", used=usage(2))
    log.rewind(fork_at)
    log.prompt("do it that way")
    log.answer("did it that way", id="msg_3", used=usage(4))
    assert sum(row[1] for row in counted(claude).values()) == 7


def test_a_resumed_file_that_replays_another_adds_only_what_is_new(claude: ClaudeHome) -> None:
    first = claude.session("first", version="1.0.31")
    first.prompt("hello")
    first.answer("hello", id="msg_1", used=usage(10))
    second = claude.fork(first, "second")
    second.prompt("and now?")
    second.answer("more", id="msg_2", used=usage(5))
    assert counted(claude) == {"msg_1": (3, 10, 0, 0), "msg_2": (3, 5, 0, 0)}


def test_subagents_in_files_beside_the_session_count(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("delegate")
    log.answer(call("Task", prompt="look"), id="msg_1", used=usage(10))
    agent = claude.subagent(log, "a1", below=False)
    agent.prompt("look")
    agent.answer("looked", id="msg_2", used=usage(20))
    # The parent's line repeats what the subagent used last; that is no usage of its own.
    log.result("looked", details={"agentId": "a1", "totalTokens": 23, "usage": usage(20)})
    assert counted(claude) == {"msg_1": (3, 10, 0, 0), "msg_2": (3, 20, 0, 0)}


def test_subagents_in_files_below_the_session_count(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("delegate")
    log.answer(call("Agent", prompt="look"), id="msg_1", used=usage(10))
    for number, name in enumerate(("a1", "a2")):
        agent = claude.subagent(log, name, meta={"toolUseId": log.call_id, "spawnDepth": 1})
        agent.prompt("look")
        agent.answer("looked", id=f"msg_{name}", used=usage(20 + number))
    assert {name: row[1] for name, row in counted(claude).items()} == {
        "msg_1": 10,
        "msg_a1": 20,
        "msg_a2": 21,
    }


def test_cache_writes_for_an_hour_are_kept_apart_from_those_for_minutes(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(1, write=900, one_hour=600))
    used: dict[str, Any] = usage(1)
    # Some versions leave out the sum, some the parts.
    del used["cache_creation_input_tokens"]
    used["cache_creation"] = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 50}
    log.answer("again", id="msg_2", used=used)
    log.answer("again", id="msg_3", used={**usage(1, write=7), "cache_creation": None})
    with collected(claude.write()) as store:
        found = {
            response.usage_id: (response.cache_write_tokens, response.cache_write_1h_tokens)
            for response in every_usage(store)
        }
        cost = store.sessions.every()[0].cost
    assert found == {"msg_1": (900, 600), "msg_2": (80, 50), "msg_3": (7, 0)}
    assert (cost.cache_write_tokens, cost.cache_write_1h_tokens) == (987, 650)


def test_the_speed_of_a_response_is_kept(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("quick", id="msg_1", used=usage(1, speed="fast"))
    log.answer("steady", id="msg_2", used=usage(1))
    with collected(claude.write()) as store:
        speeds = {used.usage_id: used.speed for used in every_usage(store)}
    assert speeds == {"msg_1": "fast", "msg_2": "standard"}


def test_web_searches_of_the_server_are_counted_once_per_message(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("look it up")
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    log.answer(search, "found", "it", id="msg_1", used=usage(9, searches=3))
    with collected(claude.write()) as store:
        assert [used.web_searches for used in every_usage(store)] == [3]
        assert store.sessions.every()[0].cost.web_searches == 3


def test_a_torn_line_in_the_middle_costs_itself_alone(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("one", id="msg_1", used=usage(10))
    torn = json.dumps({"type": "assistant", "message": {"id": "msg_2", "usage": usage(999)}})
    log.raw(torn[:60].encode() + b"\n")
    log.answer("three", id="msg_3", used=usage(30))
    with collected(claude.write()) as store:
        check_sound(store)
        assert {used.usage_id: used.output_tokens for used in every_usage(store)} == {
            "msg_1": 10,
            "msg_3": 30,
        }
        [problem] = store.problems.every()
        assert log.data[problem.place :].startswith(torn[:60].encode())
        assert problem.length == 60


def test_the_parents_message_in_a_subagents_file_counts_for_the_parent(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("delegate")
    log.answer(
        "I delegate.", call("Agent", prompt="look"), id="msg_1", request="req_1", used=usage(50)
    )
    agent = claude.subagent(log, "a1")
    agent.answer(
        text("I delegate."), id="msg_1", request="req_other", used=usage(50), stop="tool_use"
    )
    agent.answer("looked", id="msg_2", used=usage(20))
    with collected(claude.write()) as store:
        check_sound(store)
        owners = {used.usage_id: used.session_uid for used in every_usage(store)}
        outputs = {s.session_uid: s.cost.output_tokens for s in store.sessions.every()}
    assert owners == {"msg_1": "claude:alpha", "msg_2": "claude:alpha:a1"}
    assert outputs == {"claude:alpha": 50, "claude:alpha:a1": 20}


def test_a_model_nobody_knows_keeps_its_name_and_its_tokens(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.answer("hello", id="msg_1", model="claude-next-9", used=usage(12, input=34))
    log.answer("hello", id="msg_2", used=usage(1))
    with collected(claude.write()) as store:
        found = {used.model: (used.input_tokens, used.output_tokens) for used in every_usage(store)}
        events = events_of(store, "claude:alpha")
    assert found == {"claude-next-9": (34, 12), "claude-opus-4-8": (3, 1)}
    assert [event.model for event in events if event.kind == "assistant_msg"] == list(found)


def test_placeholders_of_the_program_cost_nothing(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hello")
    log.api_failure()
    log.answer("No response requested.", model="<synthetic>", used=usage(99), id="msg_s")
    log.answer("hello", id="msg_1", used=usage(1))
    assert counted(claude) == {"msg_1": (3, 1, 0, 0)}


def test_minimal_lines_without_session_uuid_or_time_are_counted_too(claude: ClaudeHome) -> None:
    """Other tools' fixtures are this bare; so are logs that somebody cut down."""
    for name, agent in (("alpha", None), ("agent-a1", "a1")):
        log = claude.session(name)
        message = {"id": f"msg_{agent}", "model": "opus", "usage": usage(5), "role": "assistant"}
        log.add({"type": "assistant", "message": message})
    assert {name: row[1] for name, row in counted(claude).items()} == {"msg_None": 5, "msg_a1": 5}


@pytest.mark.every(1)  # No other gives a server its statements.
def test_a_smaller_repetition_in_a_later_sync_moves_the_usage_to_the_last_block(
    claude: ClaudeHome,
) -> None:
    """The largest output counts, and it belongs to the last event of its response."""
    log = claude.session()
    log.prompt("hello")
    log.answer("a first part", id="msg_1", used=usage(70, input=11))
    with new_store() as store:
        collect(store, claude.write())
        log.answer("a second part", id="msg_1", used=usage(2, input=11))
        collect(store, claude.write())
        (response,) = every_usage(store)
        last = events_of(store, log.uid)[-1]
        assert (response.output_tokens, response.seq) == (70, last.seq)
        assert [event.tokens for event in events_of(store, log.uid)] == [0, 0, 70]
        with collected(claude.write()) as at_once:
            check_same(contents(at_once), contents(store))
