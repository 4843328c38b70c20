"""Pending calls: derived from the log, repaired where they stand, and by nobody who only reads."""

import threading

import pytest

from session_memory.live import SessionStore
from session_memory.live.blocks import pair_calls
from session_memory.store import Store
from session_memory.store.migrations import all_tables

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")


def calling(live: SessionStore, *names: str, flat: bool = True) -> str:
    session = live.create_session()
    live.append_message(session, role="user", content="go")
    call(live, session, *names, flat=flat)
    return session


def call(live: SessionStore, session: str, *names: str, flat: bool = True) -> int:
    if flat:
        calls = [{"id": n, "function": {"name": "bash", "arguments": '{"n": 1}'}} for n in names]
        return live.append_message(session, role="assistant", tool_calls=calls, round_index=4)
    blocks = [{"type": "tool_use", "id": n, "name": "bash", "input": {"n": 1}} for n in names]
    return live.append_message(session, role="assistant", content=blocks, round_index=4)


def answer(live: SessionStore, session: str, name: str) -> int:
    return live.append_message(session, role="tool", tool_call_id=name, content="done")


@BOTH
def test_after_a_crash_behind_one_of_two_results_resume_ran_no_tool(live: SessionStore) -> None:
    session = calling(live, "a", "b")
    answer(live, session, "a")
    plan = live.resume_plan(session)
    [missing] = plan.calls
    assert plan.next == "run_tools"
    assert (missing.call_id, missing.name, missing.arguments) == ("b", "bash", {"n": 1})
    state = live.get_state(session)
    assert state is not None
    call_b = {"id": "b", "function": {"name": "bash", "arguments": '{"n": 1}'}}
    assert state.pending == {
        "assistant_seq": 2,
        "round_index": 4,
        "tool_call_ids": ["b"],
        "tool_calls": [call_b],
    }
    answer(live, session, "b")
    assert live.resume_plan(session).next == "ask_model"
    live.append_message(session, role="assistant", content="all done")
    assert live.resume_plan(session).next == "wait_for_user"
    assert live.get_state(session).pending is None  # type: ignore[union-attr]


def test_an_empty_session_waits_and_one_with_a_question_asks(live: SessionStore) -> None:
    session = live.create_session()
    assert live.resume_plan(session).next == "wait_for_user"
    live.append_message(session, role="user", content="go")
    assert live.resume_plan(session).next == "ask_model"


@BOTH
def test_loading_wrote_a_false_interruption_while_a_tool_ran(
    live: SessionStore, opened: Store
) -> None:
    session = calling(live, "a")

    def everything() -> dict[str, list[tuple[object, ...]]]:
        return {
            table: sorted(opened.db.all(f"select * from {table}"), key=repr)
            for table in all_tables()
        }

    def look() -> None:
        live.load_active_messages(session)
        live.load_all_messages(session)
        live.load_tail(session)
        live.pending(session)
        live.resume_plan(session)
        live.get_state(session)
        live.list_sessions()
        live.plan_compaction(session)
        live.set_pending(session, None)

    before = everything()
    readers = [threading.Thread(target=look) for _ in range(10)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert everything() == before
    assert answer(live, session, "a") == 3
    assert live.pending(session) == []


def test_only_the_last_tool_loop_was_repaired_in_the_wrong_place(live: SessionStore) -> None:
    session = calling(live, "a", "b")
    answer(live, session, "b")
    live.append_message(session, role="user", content="never mind")
    call(live, session, "c", flat=False)
    live.append_message(session, role="user", content="and then?")
    assert live.repair(session) == [7, 8]
    assert live.repair(session) == []
    path = live.load_path(session)
    assert [message.seq for message in path] == [1, 2, 7, 3, 4, 5, 8, 6]
    flat, block = path[2], path[6]
    assert (flat.role, flat.tool_call_id, flat.meta["is_error"]) == ("tool", "a", True)
    assert block.role == "user" and isinstance(block.content, list)
    assert block.content[0]["tool_use_id"] == "c" and block.content[0]["is_error"] is True
    assert block.meta["synthetic"] is True
    assert [m.seq for m in live.load_tail(session, 3)] == [5, 8, 6]
    assert live.append_message(session, role="assistant", content="on") == 9
    assert pair_calls(live.load_path(session))[1] == []


def test_a_repair_stays_where_it_is_through_rewind_and_fork(live: SessionStore) -> None:
    session = calling(live, "a")
    live.append_messages(session, [{"role": "user", "content": str(n)} for n in (3, 4, 5)])
    fork = live.fork_session(session, at=4)
    [repaired] = live.repair(session)
    assert repaired == 6
    live.rewind(session, 4)
    assert [m.seq for m in live.load_path(session)] == [1, 2, 6, 3, 4]
    assert live.pending(session) == []
    assert [call.call_id for call in live.pending(fork)] == ["a"]
    later = live.fork_session(session)
    assert live.append_message(later, role="user", content="x") == 7
    assert [m.seq for m in live.load_path(later)] == [1, 2, 6, 3, 4, 7]
    live.rewind(session, 2)
    assert [call.call_id for call in live.pending(session)] == ["a"]
    live.undo_rewind(session)
    live.rewind(session, 6)
    assert [m.seq for m in live.load_path(session)] == [1, 2, 6]


def test_aborting_says_why(live: SessionStore) -> None:
    session = calling(live, "a", "b")
    assert live.abort_pending(session, "the user pressed escape") == [3, 4]
    texts = [message.content for message in live.load_path(session)[2:]]
    assert texts == ["the user pressed escape"] * 2


def test_an_id_that_is_used_again_in_the_next_round_is_pending_again(live: SessionStore) -> None:
    session = calling(live, "call_1")
    answer(live, session, "call_1")
    call(live, session, "call_1")
    [missing] = live.pending(session)
    assert missing.seq == 4
    assert live.repair(session) == [5]
    assert live.pending(session) == []


def test_an_id_no_database_holds_is_paired_all_the_same(live: SessionStore) -> None:
    session = calling(live, "\0\ud800")
    [missing] = live.pending(session)
    answer(live, session, missing.call_id)
    assert live.pending(session) == []
    call(live, session, "\0", flat=False)
    answer(live, session, "\0")
    assert live.pending(session) == []


def test_what_a_runtime_believes_pending_is_checked_against_the_log(live: SessionStore) -> None:
    session = calling(live, "a", "b")
    assert live.set_pending(session, {"tool_call_ids": ["a", "b"]}) is True
    assert live.set_pending(session, {"tool_call_ids": ["a"]}) is False
    assert live.set_pending(session, {"anything": 1}) is True
    assert live.set_pending(session, None) is False
    live.abort_pending(session)
    assert live.set_pending(session, None) is True
