"""Codex logs in a store: forks of both sorts, subagents, going back, putting away."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.store.zstandard import zstd
from session_memory.testing.codex import LEGACY, PAGINATED, CodexHome, Rollout, ran, thread_id
from session_memory.testing.collecting import (
    check_restores,
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    inherited_by,
    new_store,
    usage_of,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    return CodexHome(tmp_path / "home")


def session(store: Store, log: Rollout) -> Session:
    found = store.sessions.get(log.uid)
    assert found is not None
    return found


def said(store: Store, log: Rollout) -> list[str]:
    return words(events_of(store, log.uid))


def inherited(store: Store, log: Rollout) -> list[str]:
    return words([event for _, event in inherited_by(store, log.uid)])


def words(events: list[SessionEvent]) -> list[str]:
    return [e.summary for e in events if e.is_a("user_msg") or e.kind == "assistant_msg"]


def talk(log: Rollout, *prompts: str) -> Rollout:
    """Turns, each answered with its own echo; every answer is 10 tokens."""
    for prompt in prompts:
        log.turn(prompt)
        log.answer(f"{prompt}!")
        log.used(input=100, output=10)
        log.complete()
    return log


def in_every_order(home: CodexHome) -> Store:
    """The store of all logs at once; every order of arrival must give the same."""
    expected = collected(home.write())
    check_sound(expected)
    for order in permutations(home.logs):
        for path in home.root.rglob("*.jsonl"):
            path.unlink()
        with new_store() as store:
            for log in order:
                place = home.root / log.place
                place.write_bytes(log.data)
                collect(store, home.root)
            check_same(contents(expected), contents(store))
    return expected


# ------------------------------------------------------------ forks


def test_a_fork_by_reference_begins_with_what_it_names_and_counts_only_its_own(
    home: CodexHome,
) -> None:
    parent = talk(home.session("parent"), "one", "two")
    fork = home.fork(parent, "fork")
    talk(parent, "three")
    talk(fork, "other")
    with in_every_order(home) as store:
        assert said(store, parent) == ["one", "one!", "two", "two!", "three", "three!"]
        assert said(store, fork) == ["other", "other!"]
        assert inherited(store, fork) == ["one", "one!", "two", "two!"]
        assert session(store, fork).parent_uid == parent.uid
        assert session(store, fork).relation == "fork"
        assert [session(store, log).cost.output_tokens for log in (parent, fork)] == [30, 10]


@pytest.mark.parametrize("continues", [True, False])
def test_a_copied_fork_counts_only_what_it_added(home: CodexHome, continues: bool) -> None:
    parent = talk(home.session("parent", LEGACY), "one", "two")
    fork = home.session("fork", LEGACY)
    fork.copy(parent.lines)
    if not continues:
        fork.total = dict.fromkeys(fork.total, 0)
    talk(parent, "go on")
    talk(fork, "go on")
    with in_every_order(home) as store:
        assert said(store, parent) == ["one", "one!", "two", "two!", "go on", "go on!"]
        assert said(store, fork) == ["go on", "go on!"]
        assert inherited(store, fork) == ["one", "one!", "two", "two!"]
        assert (session(store, fork).parent_uid, session(store, fork).relation) == (
            parent.uid,
            "fork",
        )
        total = sum((s.cost for s in store.sessions.every()), Cost())
        assert (total.output_tokens, total.input_tokens, total.turns) == (40, 400, 4)


def test_a_fork_of_a_fork_counts_nothing_a_second_time(home: CodexHome) -> None:
    first = talk(home.session("first", LEGACY), "one")
    second = home.session("second", LEGACY)
    second.copy(first.lines)
    talk(second, "two")
    third = home.session("third", LEGACY)
    third.copy(second.lines)
    talk(third, "three")
    with in_every_order(home) as store:
        outputs = [session(store, log).cost.output_tokens for log in (first, second, third)]
        assert outputs == [10, 10, 10]
        assert said(store, third) == ["three", "three!"]
        assert session(store, third).parent_uid == second.uid


def test_a_fork_that_was_migrated_still_counts_only_what_it_added(home: CodexHome) -> None:
    """A migration gives the copied lines ordinals and leaves out the meta they came with."""
    parent = talk(home.session("parent"), "one", "two")
    fork = home.session("fork", forked_from_id=parent.thread)
    fork.copy(parent.lines[1:])
    talk(fork, "three")
    with in_every_order(home) as store:
        assert said(store, fork) == ["three", "three!"]
        assert inherited(store, fork) == ["one", "one!", "two", "two!"]
        assert [session(store, log).cost.output_tokens for log in (parent, fork)] == [20, 10]


def test_a_copy_whose_origin_is_gone_is_the_forks_own(home: CodexHome) -> None:
    parent = talk(home.session("parent", LEGACY), "one")
    fork = home.session("fork", LEGACY)
    fork.copy(parent.lines)
    talk(fork, "two")
    home.logs.remove(parent)
    with collected(home.write()) as store:
        assert said(store, fork) == ["one", "one!", "two", "two!"]
        assert session(store, fork).cost.output_tokens == 20


# ------------------------------------------------------------ subagents


def test_a_subagent_hangs_below_the_call_that_started_it(home: CodexHome) -> None:
    parent = home.session("parent")
    parent.turn("look at it")
    call = parent.call("spawn_agent", message="look")
    child = home.subagent(parent, "child")
    talk(child, "look")
    parent.item(
        "CollabAgentToolCall", id=call, tool="spawn_agent", receiver_thread_ids=[child.thread]
    )
    parent.result(json.dumps({"agent_id": child.thread}))
    parent.used(input=50, output=5)
    with in_every_order(home) as store:
        found = session(store, child)
        assert (found.parent_uid, found.relation) == (parent.uid, "subagent")
        assert (found.spawn_call_id, found.spawn_depth) == (call, 1)
        assert (found.cost.turns, found.cost.output_tokens) == (0, 10)
        assert session(store, parent).cost.output_tokens == 5


def test_a_subagent_that_was_given_its_parents_history_does_not_count_it(home: CodexHome) -> None:
    """Calls and thoughts are left out of such a copy, what was counted is not."""
    parent = home.session("parent", LEGACY)
    parent.turn("one")
    parent.think("hm")
    parent.shell("ls")
    parent.used(input=100, output=10)
    parent.result(ran(0))
    parent.answer("one!")
    parent.used(input=120, output=10)
    parent.complete()
    child = home.subagent(parent, "child", LEGACY)
    left_out = (b'"function_call', b'"reasoning"')
    child.copy([line for line in parent.lines if not any(kind in line for kind in left_out)])
    child.total = dict.fromkeys(child.total, 0)
    talk(child, "look")
    with in_every_order(home) as store:
        assert [session(store, log).cost.output_tokens for log in (parent, child)] == [20, 10]
        assert session(store, child).relation == "subagent"
        assert "one!" not in said(store, child)
        assert session(store, child).cost.turns == 0


# ------------------------------------------------------------ going back


@pytest.mark.parametrize("generation", [LEGACY, PAGINATED])
def test_turns_that_were_undone_stay_as_a_branch(home: CodexHome, generation: str) -> None:
    log = talk(home.session("main", generation), "one", "two", "three")
    log.event("thread_rolled_back", num_turns=2)
    talk(log, "four")
    with collected(home.write()) as store:
        events = events_of(store, log.uid)
        assert words([e for e in events if e.branch]) == ["two", "two!", "three", "three!"]
        assert words([e for e in events if not e.branch]) == ["one", "one!", "four", "four!"]
        prompts = {e.summary: e for e in events if e.is_a("user_msg")}
        assert session(store, log).cost.output_tokens == 40
        before = [e.seq for e in events if e.seq < prompts["two"].seq]
        back = next(e for e in events if e.kind == "human_intervention")
        assert back.parent_seq in before


def test_a_reverted_thread_is_one_session_in_two_files(home: CodexHome) -> None:
    log = talk(home.session("main"), "one")
    kept = log.ordinal
    talk(log, "two")
    home.clock.tick()
    rollout = thread_id(home.clock.ms, "rollout")
    again = Rollout(home, "again", PAGINATED, rollout=rollout, first=kept)
    again.thread = log.thread
    again.meta(history_base={"thread_id": log.thread, "end_ordinal_exclusive": kept})
    home.logs.append(again)
    talk(again, "other")
    with in_every_order(home) as store:
        assert [s.session_uid for s in store.sessions.every()] == [log.uid]
        assert said(store, log) == ["one", "one!", "two", "two!", "other", "other!"]
        left = [event for event in events_of(store, log.uid) if event.branch]
        assert words(left) == ["two", "two!"]
        assert session(store, log).cost.output_tokens == 30


def test_an_interruption_makes_the_next_words_an_intervention(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.shell("sleep 100")
    log.used(input=10, output=2)
    log.result("aborted by user after 2.0s")
    log.interrupt()
    log.turn("no, the other one")
    with collected(home.write()) as store:
        did = [e for e in events_of(store, log.uid) if e.is_a("human_intervention")]
    assert [(e.kind, e.native_kind) for e in did] == [
        ("error", "function_call_output"),
        ("human_intervention", "turn_aborted"),
        ("human_intervention", "message"),
    ]


# ------------------------------------------------------------ calls


def test_what_is_told_of_a_call_after_its_result_changes_the_result(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("serve it")
    call = log.shell("serve")
    log.result("Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n")
    done = {"exit_code": 7, "status": "failed", "duration": {"secs": 9, "nanos": 0}}
    log.item("CommandExecution", id=call, **done)
    with collected(home.write()) as store:
        [result] = [e for e in events_of(store, log.uid) if e.role == "tool"]
    assert (result.is_error, result.exit_code, result.duration_ms) == (True, 7, 9000)


def test_a_failed_command_tried_again_is_a_retry(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    for _ in range(2):
        log.shell("make")
        log.used(input=10, output=2)
        log.result(ran(2, "no rule"))
    with collected(home.write()) as store:
        calls = [e for e in events_of(store, log.uid) if e.is_a("tool_call")]
    assert [e.kind for e in calls] == ["tool_call", "retry"]


def test_an_answer_to_a_question_is_a_decision(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.call("request_user_input", questions=[{"id": "q", "question": "Which?"}])
    log.result('{"answers":{"q":{"answers":["the first"]}}}')
    with collected(home.write()) as store:
        [result] = [e for e in events_of(store, log.uid) if e.role == "tool"]
    assert result.is_a("decision")


def test_the_tokens_of_a_response_stand_on_its_last_event(home: CodexHome) -> None:
    log = home.session("main")
    log.turn("go on")
    log.think("hm")
    log.answer("I look.")
    log.shell("ls")
    log.used("resp_1", input=10, output=7)
    log.result(ran(0))
    with collected(home.write()) as store:
        made = [e for e in events_of(store, log.uid) if e.response_id]
        [usage] = usage_of(store, log.uid)
    assert [(e.kind, e.tokens) for e in made] == [
        ("thinking", 0),
        ("assistant_msg", 0),
        ("tool_call", 7),
    ]
    assert {e.response_id for e in made} == {usage.usage_id} == {"resp_1"}


# ------------------------------------------------------------ where it lies


def test_a_session_put_away_and_compressed_is_still_the_same(
    home: CodexHome, tmp_path: Path
) -> None:
    log = talk(home.session("main"), "one")
    with collected(home.write()) as store:
        before = contents(store)
        archive = home.root / ".codex" / "archived_sessions" / log.file_name
        archive.parent.mkdir()
        (home.root / log.place).rename(archive)
        collect(store, home.root)
        check_same(before, contents(store))
        archive.with_name(f"{archive.name}.zst").write_bytes(zstd.compress(archive.read_bytes()))
        archive.unlink()
        collect(store, home.root)
        check_same(before, contents(store))
        check_sound(store)
        [item] = restore_native(store, None, tmp_path / "again")
        assert item.path == tmp_path / "again" / log.place
        assert item.path.read_bytes() == log.data


def test_a_log_found_compressed_is_read_like_any_other(home: CodexHome, tmp_path: Path) -> None:
    log = talk(home.session("main"), "one")
    with collected(home.write()) as plain:
        expected = contents(plain)
    place = home.root / log.place
    place.with_name(f"{place.name}.zst").write_bytes(zstd.compress(place.read_bytes()))
    place.unlink()
    with collected(home.root) as store:
        check_same(expected, contents(store))


def test_a_log_that_grows_is_read_on_from_where_it_was(home: CodexHome) -> None:
    log = home.session("main", LEGACY)
    with new_store() as store:
        for prompt in ("one", "two", "three"):
            talk(log, prompt)
            collect(store, home.write())
        with collected(home.root) as whole:
            check_same(contents(whole), contents(store))
        check_restores(store, home.root, home.root.parent / "again")
