"""Subagents: where their files lie, who started them, and by which call."""

import pytest

from session_memory.core.schema import Session
from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

Link = tuple[str | None, str | None, str | None, int]


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    log = claude.session()
    log.prompt("delegate")
    log.answer(call("Agent", "call_1", prompt="look"))
    return log


def worked(agent: ClaudeLog) -> ClaudeLog:
    """A subagent that did what it was asked to."""
    agent.prompt("look")
    agent.answer("looked", used=usage(20))
    return agent


def link_of(session: Session | None) -> Link:
    assert session is not None
    return session.parent_uid, session.relation, session.spawn_call_id, session.spawn_depth


def linked(claude: ClaudeHome, uid: str) -> Link:
    with collected(claude.write()) as store:
        check_sound(store)
        return link_of(store.sessions.get(uid))


def test_a_document_names_the_call_and_the_depth(claude: ClaudeHome, log: ClaudeLog) -> None:
    meta = {"agentType": "general-purpose", "toolUseId": "call_1", "spawnDepth": 1}
    worked(claude.subagent(log, "a1", meta=meta))
    assert linked(claude, "claude:alpha:a1") == ("claude:alpha", "subagent", "call_1", 1)


@pytest.mark.parametrize("below", [True, False], ids=["below", "beside"])
def test_without_a_document_the_parents_log_names_the_call(
    claude: ClaudeHome, log: ClaudeLog, below: bool
) -> None:
    worked(claude.subagent(log, "a1", below=below))
    log.result("looked", details={"agentId": "a1", "status": "completed"})
    assert linked(claude, "claude:alpha:a1") == ("claude:alpha", "subagent", "call_1", 1)


def test_a_subagent_in_the_background_is_linked_when_it_is_launched(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    worked(claude.subagent(log, "a1"))
    log.result("launched", details={"agentId": "a1", "status": "async_launched", "isAsync": True})
    log.notification("a1")
    assert linked(claude, "claude:alpha:a1")[2] == "call_1"


def test_ticks_of_progress_name_the_call_as_well(claude: ClaudeHome, log: ClaudeLog) -> None:
    worked(claude.subagent(log, "a1", below=False))
    log.progress(agent="a1", call_id="call_1")
    assert linked(claude, "claude:alpha:a1") == ("claude:alpha", "subagent", "call_1", 1)


@pytest.mark.parametrize("below", [True, False], ids=["below", "beside"])
def test_a_subagent_nobody_speaks_of_still_knows_its_session(
    claude: ClaudeHome, log: ClaudeLog, below: bool
) -> None:
    worked(claude.subagent(log, "a1", below=below))
    assert linked(claude, "claude:alpha:a1") == ("claude:alpha", "subagent", None, 1)


def test_a_nested_subagent_hangs_below_the_one_that_started_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    outer = worked(claude.subagent(log, "a1", meta={"toolUseId": "call_1", "spawnDepth": 1}))
    outer.answer(call("Agent", "call_2", prompt="look closer"))
    meta = {"toolUseId": "call_2", "spawnDepth": 2, "parentAgentId": "a1"}
    worked(claude.subagent(log, "a2", meta=meta))
    with collected(claude.write()) as store:
        check_sound(store)
        found = link_of(store.sessions.get("claude:alpha:a2"))
        assert found == ("claude:alpha:a1", "subagent", "call_2", 2)
        assert store.sessions.children("claude:alpha") == ["claude:alpha:a1"]
        assert store.sessions.children("claude:alpha:a1") == ["claude:alpha:a2"]


def test_without_a_document_the_log_of_the_outer_subagent_names_the_nested_one(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    outer = worked(claude.subagent(log, "a1"))
    outer.answer(call("Agent", "call_2", prompt="look closer"))
    outer.result("seen", details={"agentId": "a2", "status": "completed"})
    worked(claude.subagent(log, "a2"))
    assert linked(claude, "claude:alpha:a2")[:3] == ("claude:alpha:a1", "subagent", "call_2")


def test_agents_of_a_workflow_lie_deeper_and_count_all_the_same(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    worked(claude.subagent(log, "a1", under="workflows/wf1"))
    with collected(claude.write()) as store:
        session = store.sessions.get("claude:alpha:a1")
    assert session is not None and session.cost.output_tokens == 20
    assert session.parent_uid == "claude:alpha"


def test_a_session_that_claims_to_have_started_itself_is_not_its_own_parent(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    agent = worked(claude.subagent(log, "a1", meta={"parentAgentId": "a1"}))
    agent.result("me", details={"agentId": "a1"}, call_id="call_x")
    assert linked(claude, "claude:alpha:a1")[:2] == ("claude:alpha", "subagent")


def test_what_a_subagent_is_asked_is_nobodys_message(claude: ClaudeHome, log: ClaudeLog) -> None:
    worked(claude.subagent(log, "a1"))
    with collected(claude.write()) as store:
        prompt, answer = events_of(store, "claude:alpha:a1")
        session = store.sessions.get("claude:alpha:a1")
    assert (prompt.kind, prompt.role, prompt.is_sidechain) == ("lifecycle", "user", True)
    assert (answer.kind, answer.marks) == ("assistant_msg", ("completion",))
    assert session is not None and session.cost.turns == 0


def test_the_usage_in_the_parents_line_is_not_counted_again(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    worked(claude.subagent(log, "a1"))
    log.result("looked", details={"agentId": "a1", "totalTokens": 1234, "usage": usage(999)})
    with collected(claude.write()) as store:
        assert {s.session_uid: s.cost.output_tokens for s in store.sessions.every()} == {
            "claude:alpha": 10,
            "claude:alpha:a1": 20,
        }


def arrivals(claude: ClaudeHome, parts: list[list[ClaudeLog]]) -> Store:
    """A store after one sync for each part."""
    store = collected(claude.write(parts[0]))
    for part in parts[1:]:
        collect(store, claude.write(part))
    return store


@pytest.mark.parametrize("shares", [False, True], ids=["apart", "with the parent's message"])
def test_the_link_is_the_same_whoever_comes_first(
    claude: ClaudeHome, log: ClaudeLog, shares: bool
) -> None:
    log.result("looked", details={"agentId": "a1"})
    agent = claude.subagent(log, "a1")
    if shares:
        for line in log.lines[:2]:
            agent.raw(line)
    worked(agent)
    claude.write()
    with collected(claude.path) as expected:
        check_sound(expected)
        assert link_of(expected.sessions.get(agent.uid))[2] == "call_1"
        for order in ([[log], [agent]], [[agent], [log]]):
            for path in claude.path.rglob("*.jsonl"):
                path.unlink()
            with arrivals(claude, order) as store:
                check_same(contents(expected), contents(store))


def test_a_document_that_comes_later_changes_the_parent_and_what_it_owns(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    outer = worked(claude.subagent(log, "b2"))
    inner = claude.subagent(log, "a1", meta={"parentAgentId": "b2", "spawnDepth": 2})
    for line in outer.lines:
        inner.raw(line)
    inner.answer("deeper")
    documents, inner.files = inner.files, {}
    with collected(claude.write()) as store:
        inner.files = documents
        collect(store, claude.write())
        check_sound(store)
        assert link_of(store.sessions.get(inner.uid))[0] == outer.uid
        assert [event.summary for event in events_of(store, outer.uid)] == ["look", "looked"]
        with collected(claude.path) as expected:
            check_same(contents(expected), contents(store))


def test_a_document_rewritten_at_the_end_speaks_for_all_its_versions(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    agent = worked(claude.subagent(log, "a1", meta={"toolUseId": "call_1", "finished": False}))
    place = next(iter(agent.files))
    with collected(claude.write()) as store:
        agent.files[place] = b'{"toolUseId":"call_9","spawnDepth":2,"finished":true}'
        collect(store, claude.write())
        check_sound(store)
        assert link_of(store.sessions.get(agent.uid)) == ("claude:alpha", "subagent", "call_9", 2)


def test_a_broken_document_is_a_problem_and_the_log_is_read_all_the_same(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    agent = worked(claude.subagent(log, "a1", meta={}))
    agent.files = dict.fromkeys(agent.files, b'{"toolUseId":')
    with collected(claude.write()) as store:
        check_sound(store)
        assert [problem.reason for problem in store.problems.every()] == ["malformed document"]
        assert link_of(store.sessions.get(agent.uid))[0] == "claude:alpha"


def test_a_file_beside_the_session_that_holds_no_line_is_a_problem_and_no_session(
    claude: ClaudeHome,
) -> None:
    agent = claude.session("agent-a1")
    agent.raw(b"{broken\n{broken too\n")
    with collected(claude.write()) as store:
        check_sound(store)
        assert [problem.place for problem in store.problems.every()] == [0, 8]
        assert store.sessions.uids() == []


def test_spilled_outputs_are_kept_with_their_session_and_give_no_events(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    place = log.spill("out1.txt", b"line\n" * 1000)
    log.result(
        f"<persisted-output>\nFull output saved to: {place}\n</persisted-output>",
        details={"persistedOutputPath": str(place), "persistedOutputSize": 5000},
    )
    with collected(claude.write()) as store:
        check_sound(store)
        assert len(events_of(store, "claude:alpha")) == 3
        again = claude.path.parent / "again"
        restored = restore_native(store, ["claude:alpha"], again)
    assert {item.path.relative_to(again) for item in restored} == {log.place, place}
    assert (again / place).read_bytes() == b"line\n" * 1000
