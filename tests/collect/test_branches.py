"""The chain of a session: parents over gaps, rewinds, compactions and inline subagents."""

import pytest

from session_memory.core.schema import SessionEvent
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, text, thinking, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    return claude.session()


def events(claude: ClaudeHome) -> list[SessionEvent]:
    with collected(claude.write()) as store:
        check_sound(store)
        return events_of(store, "claude:alpha")


def parents(found: list[SessionEvent]) -> dict[str, str | None]:
    """Each event's summary, with its parent's."""
    said = {event.seq: event.summary for event in found}
    return {
        event.summary: None if event.parent_seq is None else said[event.parent_seq]
        for event in found
    }


def left(found: list[SessionEvent]) -> dict[str, str]:
    """What lies on an abandoned branch, with the words the branch began with."""
    first = {event.event_uid: event.summary for event in found}
    return {event.summary: first[event.branch] for event in found if event.branch}


# ------------------------------------------------------------ parents


def test_every_event_hangs_below_the_one_it_followed(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("one")
    log.answer(thinking("two"), "three")
    log.prompt("four")
    assert parents(events(claude)) == {"one": None, "two": "one", "three": "two", "four": "three"}


def test_lines_that_give_no_event_do_not_break_the_chain(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("one")
    for _ in range(20):
        log.progress()
    log.answer("two")
    log.last_prompt("one")
    log.custom_title("a title")
    log.prompt("three")
    found = parents(events(claude))
    assert (found["two"], found["three"]) == ("one", "two")


def test_chains_of_ticks_that_interleave_do_not_mix_up_parents(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("run both")
    heads = dict(zip("ab", log.answer(*(call("Bash", n, command=n) for n in "ab")), strict=True))
    for _ in range(10):
        for name in "ab":
            log.rewind(heads[name])
            heads[name] = log.progress(call_id=name)
    for name in "ba":
        log.result(f"result of {name}", call_id=name, parentUuid=heads[name])
    found = parents(events(claude))
    assert (found["result of a"], found["result of b"]) == ("a", "b")


def test_the_chain_holds_when_reading_stops_in_a_gap(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("one")
    log.progress()
    with collected(claude.write()) as store:
        log.progress()
        collect(store, claude.write())
        log.answer("two")
        collect(store, claude.write())
        assert parents(events_of(store, "claude:alpha"))["two"] == "one"


def test_results_of_parallel_calls_hang_below_their_own_calls(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("read both")
    first, second = log.answer(call("Read", "a", file_path="a"), call("Read", "b", file_path="b"))
    log.result("contents of a", call_id="a", parentUuid=first)
    log.result("contents of b", call_id="b", parentUuid=second)
    found = parents(events(claude))
    assert (found["contents of a"], found["contents of b"]) == ("a", "b")
    assert left(events(claude)) == {}


def test_the_blocks_of_one_line_hang_below_each_other(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.line(
        "assistant",
        message={
            "id": "msg_1",
            "model": "opus",
            "content": [text("one"), text("two")],
            "usage": usage(5),
        },
    )
    found = events(claude)
    assert [
        (e.seq, e.parent_seq, e.event_uid.rpartition(":")[2]) for e in found if e.event_uid
    ] == [
        (0, None, "0"),
        (1, 0, "1"),
    ]


def test_a_parent_that_is_nowhere_makes_a_root(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("one", parentUuid="00000000-0000-4000-8000-00000000dead")
    log.answer("two")
    assert parents(events(claude)) == {"one": None, "two": "one"}


def test_a_parent_that_comes_later_makes_a_root(claude: ClaudeHome, log: ClaudeLog) -> None:
    later = "00000000-0000-4000-8000-00000000beef"
    log.prompt("one", parentUuid=later)
    log.prompt("two", uuid=later, parentUuid=None)
    assert parents(events(claude)) == {"one": None, "two": None}


def test_a_line_that_is_its_own_parent_is_a_root(claude: ClaudeHome, log: ClaudeLog) -> None:
    own = "00000000-0000-4000-8000-00000000cafe"
    log.prompt("one", uuid=own, parentUuid=own)
    assert parents(events(claude)) == {"one": None}


def test_a_compaction_keeps_the_chain(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("one")
    log.answer("two")
    log.compact("one and two")
    log.answer("three")
    found = events(claude)
    chain = parents(found)
    assert chain["Conversation compacted"] == "two"
    summary = next(event for event in found if event.native_kind == "user/compact_summary")
    assert (summary.kind, summary.role) == ("lifecycle", "user")
    assert chain[summary.summary] == "Conversation compacted"
    assert chain["three"] == summary.summary
    assert left(found) == {}


# ------------------------------------------------------------ rewinds


def test_a_rewind_marks_what_it_left_and_only_that(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("start")
    fork = log.answer("ready")[0]
    log.prompt("this way")
    log.run("make", "built")
    log.answer("went this way")
    log.rewind(fork)
    log.prompt("that way")
    log.answer("went that way")
    assert left(events(claude)) == {
        "this way": "this way",
        "make": "this way",
        "built": "this way",
        "went this way": "this way",
    }


def test_each_of_several_rewinds_leaves_its_own_branch(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("start")
    fork = log.answer("ready")[0]
    for way in ("one", "two", "three"):
        log.rewind(fork)
        log.prompt(way)
        log.answer(f"went {way}")
    assert left(events(claude)) == {
        "one": "one",
        "went one": "one",
        "two": "two",
        "went two": "two",
    }


def test_a_rewind_inside_a_branch_that_was_left_keeps_both_marks(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("start")
    outer = log.answer("ready")[0]
    log.prompt("left")
    inner = log.answer("went left")[0]
    log.prompt("left of left")
    log.rewind(inner)
    log.prompt("right of left")
    log.rewind(outer)
    log.prompt("right")
    assert left(events(claude)) == {
        "left": "left",
        "went left": "left",
        "left of left": "left of left",
        "right of left": "left",
    }


def test_going_back_to_a_left_branch_leaves_the_other(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("start")
    fork = log.answer("ready")[0]
    log.prompt("one")
    end = log.answer("went one")[0]
    log.rewind(fork)
    log.prompt("two")
    log.answer("went two")
    with collected(claude.write()) as store:
        assert left(events_of(store, "claude:alpha")) == {"one": "one", "went one": "one"}
        log.rewind(end)
        log.answer("one goes on")
        collect(store, claude.write())
        assert left(events_of(store, "claude:alpha")) == {"two": "two", "went two": "two"}
        with collected(claude.path) as fresh:
            check_same(contents(fresh), contents(store))


def test_a_rewound_branch_keeps_its_tokens(claude: ClaudeHome, log: ClaudeLog) -> None:
    start = log.prompt("start")
    log.answer("one", used=usage(10))
    log.rewind(start)
    log.answer("two", used=usage(20))
    with collected(claude.write()) as store:
        assert store.sessions.every()[0].cost.output_tokens == 30


def test_results_and_attachments_beside_an_answer_are_no_branches(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    start = log.prompt("start")
    log.attachment("task_reminder")
    log.rewind(start)
    log.answer("working")
    log.rewind(start)
    log.turn_ended()
    assert left(events(claude)) == {}


# ------------------------------------------------------------ subagents inside the file


def test_an_inline_subagent_is_a_sidechain_of_its_session(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("delegate")
    log.answer(call("Task", prompt="look around"), used=usage(10))
    lane = log.sidechain()
    lane.prompt("look around")
    lane.answer("I look.", call("Bash", command="ls"), used=usage(20))
    lane.result("a.py")
    lane.answer("all seen", used=usage(30))
    log.result("all seen", parentUuid=log.head)
    log.answer("done", used=usage(40))
    with collected(claude.write()) as store:
        check_sound(store)
        [session] = store.sessions.every()
        found = events_of(store, session.session_uid)
    assert session.cost.output_tokens == 100
    assert session.cost.turns == 1
    aside = [event for event in found if event.is_sidechain]
    assert [event.summary for event in aside] == [
        "look around",
        "I look.",
        "ls",
        "a.py",
        "all seen",
    ]
    assert (aside[0].kind, aside[0].role, aside[0].parent_seq) == ("lifecycle", "user", None)
    assert left(found) == {}


# ------------------------------------------------------------ responses


def test_tokens_stand_on_the_last_block_of_a_response(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("go")
    log.answer(
        thinking("hm"), "I look.", call("Bash", command="ls"), early=usage(3), used=usage(50)
    )
    assert [event.tokens for event in events(claude)] == [0, 0, 0, 50]


def test_tokens_move_to_the_last_block_when_it_is_read_later(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("go")
    log.answer("I look.", id="msg_1", used=usage(50))
    with collected(claude.write()) as store:
        log.answer("And I see.", id="msg_1", used=usage(50))
        collect(store, claude.write())
        found = events_of(store, "claude:alpha")
        [used] = store.usage.of(1, "claude:alpha")
    assert [event.tokens for event in found] == [0, 0, 50]
    assert used.seq == 2


def test_a_result_between_the_lines_of_a_response_gets_none_of_its_tokens(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("go")
    log.answer(call("Read", file_path="a"), id="msg_1", used=usage(50))
    log.result("a")
    log.answer(call("Read", file_path="b"), id="msg_1", used=usage(50))
    assert [event.tokens for event in events(claude)] == [0, 0, 0, 50]


def test_responses_that_stream_side_by_side_keep_their_tokens_apart(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("go")
    lane = log.sidechain()
    for round_ in ("first", "second"):
        log.answer(f"{round_} of main", id="msg_main", used=usage(50))
        lane.answer(f"{round_} of side", id="msg_side", used=usage(70))
    with collected(claude.write()) as store:
        tokens = {event.summary: event.tokens for event in events_of(store, "claude:alpha")}
    assert tokens == {
        "go": 0,
        "first of main": 0,
        "first of side": 0,
        "second of main": 50,
        "second of side": 70,
    }


def test_an_answer_cut_off_in_mid_stream_has_no_usage(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("go")
    log.abort("I am going to", id="msg_1", used=usage(1, input=500, read=9000))
    log.interrupt()
    with collected(claude.write()) as store:
        [session] = store.sessions.every()
        assert store.usage.of(1, session.session_uid) == []
    assert (session.cost.input_tokens, session.cost.output_tokens) == (0, 0)
    assert session.model == "claude-opus-4-8"


def test_usage_names_the_event_that_carries_its_tokens(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("go")
    for number in range(5):
        log.answer(thinking("hm"), call("Bash", command=f"echo {number}"), used=usage(number + 1))
        log.result(str(number))
    with collected(claude.write()) as store:
        tokens = {event.seq: event.tokens for event in events_of(store, "claude:alpha")}
        used = store.usage.of(1, "claude:alpha")
    assert [tokens[response.seq] for response in used if response.seq is not None] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert sum(tokens.values()) == 15


def test_a_line_that_stands_there_twice_is_one_event(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt("go")
    log.answer("once", id="msg_1", used=usage(10))
    log.prompt("on")
    log.answer("more", id="msg_2", used=usage(20))
    for line in log.lines[:2]:
        log.raw(line)
    with collected(claude.write()) as store:
        check_sound(store)
        found = events_of(store, "claude:alpha")
        used = {response.usage_id: response.seq for response in store.usage.of(1, "claude:alpha")}
    assert [event.summary for event in found] == ["go", "once", "on", "more"]
    assert used == {"msg_1": 1, "msg_2": 3}
