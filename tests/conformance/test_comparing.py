"""What was recorded from the real program is equal to the script; what is changed is seen."""

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from session_memory.conformance.comparing import Difference
from session_memory.conformance.drivers.pi import Pi
from session_memory.conformance.found import FoundInLogs, found_in
from session_memory.conformance.result import compared, judged

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

RECORDINGS = Path(__file__).parent.parent / "data" / "conformance" / "pi"
NAMES = sorted(path.name for path in RECORDINGS.iterdir())


def truth_of(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((RECORDINGS / name / "EXPECTED.json").read_text())
    return truth


@cache
def found(name: str) -> FoundInLogs:
    return found_in(RECORDINGS / name / "home", "pi")


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_equal_but_for_what_is_declared(name: str) -> None:
    wrong, known = judged(Pi(), name, compared(Pi(), truth_of(name), found(name)))
    assert wrong == []
    assert bool(known) == (name in Pi.known)


def keys(truth: dict[str, Any], name: str = "basic") -> list[str]:
    return [one.key for one in compared(Pi(), truth, found(name))]


def test_each_kind_of_difference_is_seen() -> None:
    truth = truth_of("basic")
    assert keys(truth) == []

    def changed(path: tuple[Any, ...], value: Any) -> list[str]:
        one = copy.deepcopy(truth)
        inner = one
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        return keys(one)

    request = ("requests", 0)
    assert changed((*request, "tokens", "cache_read"), 1) == ["tokens"]
    assert changed((*request, "model"), "another") == ["model"]
    assert changed((*request, "group"), "error") == ["extra", "calls"]
    assert changed(("requests",), truth["requests"][1:]) == ["extra", "calls"]
    assert changed(("requests",), [*truth["requests"], new_request(truth)]) == ["requests"]
    assert changed(("prompts",), ["Another prompt."]) == ["prompts", "prompts"]
    assert changed(("requests", 0, "tools", 0, "id"), "call_other") == ["calls"]
    assert changed(("requests", 0, "tools", 0, "fails"), True) == ["tool errors"]
    assert changed(("truth", "interrupted"), True) == ["interrupt"]
    assert changed(("truth", "subagents"), 1) == ["sessions"]
    assert changed(("skipped",), 2) == ["script"]
    assert changed(("over",), 1) == ["script"]


def new_request(truth: dict[str, Any]) -> dict[str, Any]:
    last = truth["requests"][-1]
    counts = {name: count + 5 for name, count in last["tokens"].items()}
    return {**last, "message_id": "msg_new", "tokens": counts, "tools": []}


def test_a_request_that_counts_for_the_wrong_session_is_seen() -> None:
    truth = truth_of("fork")
    truth["requests"][0]["session"] = "fork"
    assert keys(truth, "fork") == ["owners"]
    truth["truth"]["forks"] = 0
    assert keys(truth, "fork") == ["sessions", "owners"]


def test_a_subagent_may_be_that_of_a_fork() -> None:
    truth, seen = truth_of("fork"), found("fork")
    truth["truth"]["subagents"] = 1
    (fork,) = [one for one in seen.sessions if one.relation == "fork"]
    for parent, differing in ((fork.session_uid, []), ("pi:gone", ["parents"])):
        named = {"session_uid": "pi:child", "native_session_id": "child", "parent_uid": parent}
        child = replace(fork, **named, relation="subagent")
        more = replace(seen, sessions=[*seen.sessions, child])
        assert [one.key for one in compared(Pi(), truth, more)] == differing


def test_tokens_of_turns_are_compared_by_session() -> None:
    driver, truth = Pi(), truth_of("fork")
    driver.usage_per_turn = True
    assert compared(driver, truth, found("fork")) == []
    truth["requests"][0]["tokens"]["cache_read"] += 1
    (difference,) = compared(driver, truth, found("fork"))
    assert difference.key == "tokens" and difference.text.startswith("main: cache_read")


def test_a_declared_difference_that_is_gone_is_a_difference() -> None:
    wrong, known = judged(Pi(), "interrupt", [])
    assert wrong == ["interrupt: declared as a known difference, but there is none"]
    assert known == []
    wrong, known = judged(Pi(), "interrupt", [Difference("interrupt", "x"), Difference("y", "z")])
    assert wrong == ["y: z"] and len(known) == 1


class Moody(Pi):
    sometimes = {"cut": {"script": "it asks again in some runs"}}


def test_a_difference_that_shows_in_some_runs_may_be_missing() -> None:
    assert judged(Moody(), "cut", []) == ([], [])
    cut = [Difference("script", "x")]
    assert judged(Moody(), "cut", cut) == ([], ["script: it asks again in some runs"])
    assert judged(Moody(), "basic", cut) == (["script: x"], [])
