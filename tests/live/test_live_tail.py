"""The tail: what a runtime asks after every message costs the same in a session of any length."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from effort import IS_REPEATABLE, times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.live_errors import LeaseHeld, LeaseLost
from session_memory.live import SessionStore
from session_memory.live.blocks import pending_in
from session_memory.live.tail import FIRST_LOOK, LONGEST_SILENCE, tail_start
from session_memory.store import Store

pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

Message = dict[str, Any]


def chat(count: int) -> list[Message]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"{n}"} for n in range(count)]


def prompts(count: int) -> list[Message]:
    return [{"role": "user", "content": f"{n}"} for n in range(count)]


def answers(count: int) -> list[Message]:
    return [{"role": "assistant", "content": f"{n}"} for n in range(count)]


def one_long_turn(count: int) -> list[Message]:
    call = [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "ls"}}]}]
    return [{"role": "user", "content": "go"}, *(call + [result("a")]) * (count // 2), *call]


def result(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "done"}


class Counted:
    """A database that counts its statements and the rows it hands out."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self.seen: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def all(self, sql: str, params: Any = None) -> list[Any]:
        rows = self._db.all(sql, params)
        self.seen.append(len(rows))
        return rows

    def one(self, sql: str, params: Any = None) -> Any:
        self.seen.append(1)
        return self._db.one(sql, params)


# SWITCHING 3.75: these loaded the whole path, 0.2 s at 20,000 messages.
@BOTH
def test_state_and_plan_read_the_same_number_of_rows_in_a_longer_turn(opened: Store) -> None:
    check_reads(opened, one_long_turn)


@pytest.mark.parametrize("messages", [chat, prompts, answers])
def test_state_and_plan_read_the_same_number_of_rows_in_a_longer_session(
    opened: Store, messages: Callable[[int], list[Message]]
) -> None:
    check_reads(opened, messages)


def check_reads(opened: Store, messages: Callable[[int], list[Message]]) -> None:
    seen = []
    for count in (400, 1_600):
        db = Counted(opened.db)
        live = SessionStore(db)  # type: ignore[arg-type]
        session = live.create_session()
        live.append_messages(session, messages(count))
        db.seen.clear()
        live.get_state(session)
        live.set_pending(session, None)
        live.set_pending(session, {"approval": count})
        live.resume_plan(session)
        seen.append(list(db.seen))
    assert seen[0] == seen[1]
    assert sum(seen[0]) < 500


def test_the_database_does_no_more_work_in_a_longer_session(opened: Store) -> None:
    connection, live = opened.db._connection, SessionStore(opened.db)  # type: ignore[attr-defined]
    steps = []
    for count in (400, 4_000):
        session = live.create_session()
        live.append_messages(session, one_long_turn(count))
        live.get_state(session)
        ticks: list[None] = []
        connection.set_progress_handler(lambda ticks=ticks: bool(ticks.append(None)), 10)
        live.get_state(session)
        connection.set_progress_handler(None)
        steps.append(len(ticks))
    assert steps[1] <= steps[0] + 2


# ------------------------------------------------------------ the same as the whole path


@st.composite
def runs(draw: st.DrawFn) -> list[Message]:
    """What a runtime writes: rounds of answers with calls and results, and prompts anywhere. Only
    the last round may lack results."""
    messages: list[Message] = []
    rounds = draw(st.integers(1, 4))
    for number in range(rounds):
        messages += prompts(draw(st.integers(0 if messages else 1, 2)))
        ids = draw(st.lists(st.sampled_from("abcd"), unique=True))
        messages += draw(st.permutations([answer(one) for one in ids] + answers(1)))
        is_last = number == rounds - 1
        given = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))] if is_last else ids
        messages += draw(st.permutations([result(one) for one in given]))
        if is_last:
            # A person may write while tools run.
            place = draw(st.integers(len(messages) - len(given), len(messages)))
            messages[place:place] = prompts(draw(st.integers(0, 2)))
    return messages


def answer(call_id: str) -> Message:
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": {"name": "ls"}}]}


def test_the_tail_has_every_call_that_a_runtime_left_open(live: SessionStore) -> None:
    @settings(max_examples=times(40), deadline=None, derandomize=IS_REPEATABLE)
    @given(messages=runs())
    def check(messages: list[Message]) -> None:
        session = live.create_session()
        live.append_messages(session, messages)
        missing = pending_in(live.load_path(session))
        assert list(live.resume_plan(session).calls) == missing
        state = live.get_state(session)
        assert state is not None
        named = [] if state.pending is None else state.pending["tool_call_ids"]
        assert named == [call.call_id for call in missing]

    check()


@BOTH
def test_the_tail_crosses_forks_rewinds_and_repairs(live: SessionStore) -> None:
    session = live.create_session()
    live.append_messages(session, [*chat(30), *one_long_turn(2)])
    fork = live.fork_session(session)
    assert [call.call_id for call in live.resume_plan(fork).calls] == ["a"]
    live.append_message(fork, **result("a"))
    assert live.resume_plan(fork).next == "ask_model"
    assert live.resume_plan(session).next == "run_tools"
    live.rewind(fork, live.head(session))
    assert live.resume_plan(fork).next == "run_tools"
    live.repair(session)
    assert live.resume_plan(session).next == "ask_model"
    assert live.get_state(session).pending is None  # type: ignore[union-attr]


def rows(*roles: str) -> list[Sequence[Any]]:
    return [(n, None, role, *(None,) * 9) for n, role in enumerate(roles)]


def test_where_the_tail_starts() -> None:
    assert tail_start([]) is None
    assert tail_start(rows("user")) is None
    assert tail_start(rows("assistant", "tool", "assistant", "assistant", "tool", "user")) == 2
    assert tail_start(rows("user", "assistant", "system", "assistant")) == 1
    assert tail_start(rows("assistant", "user")) is None
    assert tail_start(rows(*["user"] * (LONGEST_SILENCE + 2))) == 1


def test_an_answer_with_more_results_than_the_first_look(live: SessionStore) -> None:
    ids = [f"c{n}" for n in range(FIRST_LOOK * 6)]
    session = live.create_session()
    live.append_messages(session, [*prompts(1), *map(answer, ids), *map(result, ids[1:])])
    assert [call.call_id for call in live.resume_plan(session).calls] == ["c0"]


# ------------------------------------------------------------ what a runtime sets


def pending_of(live: SessionStore, session: str) -> Any:
    state = live.get_state(session)
    assert state is not None
    return state.pending


# SWITCHING 3.73: the value was ignored.
@BOTH
def test_what_a_runtime_sets_is_kept_as_it_was(live: SessionStore) -> None:
    session = live.create_session()
    said = {"approval": {"by": "Mira", "odd": "\0\ud800"}, "n": [1, None]}
    assert live.set_pending(session, said) is False
    live.append_messages(session, chat(2))
    assert pending_of(live, session) == said
    live.append_message(session, **answer("a"))
    assert pending_of(live, session) == {
        **said,
        "assistant_seq": 3,
        "round_index": None,
        "tool_call_ids": ["a"],
        "tool_calls": [{"id": "a", "function": {"name": "ls"}}],
    }
    live.append_message(session, **result("a"))
    assert pending_of(live, session) == said
    assert live.set_pending(session, None) is True
    assert pending_of(live, session) is None


def test_calls_that_no_message_has_are_kept_until_the_runtime_clears_them(
    live: SessionStore,
) -> None:
    session = live.create_session()
    said = {"tool_calls": [{"id": "later"}], "tool_call_ids": ["later"]}
    assert live.set_pending(session, said) is False
    assert pending_of(live, session) == said
    live.set_pending(session, {})
    assert pending_of(live, session) is None


def test_what_is_said_about_calls_ends_with_them(live: SessionStore) -> None:
    session = live.create_session()
    live.append_messages(session, [*prompts(1), answer("a"), answer("b")])
    assert live.set_pending(session, {"tool_call_ids": ["a", "b"], "asked": "Mira"}) is True
    live.append_message(session, **result("a"))
    assert pending_of(live, session)["asked"] == "Mira"
    assert pending_of(live, session)["tool_call_ids"] == ["b"]
    # The process died before it could clear its own value.
    live.append_message(session, **result("b"))
    assert pending_of(live, session) is None
    live.append_messages(session, [*answers(1), *prompts(1), answer("a")])
    assert "asked" not in pending_of(live, session)


@BOTH
def test_a_lost_lease_sets_nothing(live: SessionStore) -> None:
    session = live.create_session()
    lease = live.acquire_lease(session, "first")
    with pytest.raises(LeaseHeld):
        live.set_pending(session, {"approval": 1})
    live.set_pending(session, {"approval": 1}, fence=lease.fence)
    live.acquire_lease(session, "second", force=True)
    with pytest.raises(LeaseLost):
        live.set_pending(session, {"approval": 2}, fence=lease.fence)
    assert pending_of(live, session) == {"approval": 1}


def test_block_calls_come_in_the_shape_of_chat_completions(live: SessionStore) -> None:
    session = live.create_session()
    block = {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}}
    live.append_message(session, role="assistant", content=[block])
    function = {"name": "ls", "arguments": '{"path": "."}'}
    assert pending_of(live, session)["tool_calls"] == [
        {"id": "a", "type": "function", "function": function}
    ]


def test_a_call_without_an_id_is_pending_until_a_result_without_an_id(live: SessionStore) -> None:
    session = live.create_session()
    calls = [{"type": "function", "function": {"name": name}} for name in ("ls", "pwd")]
    live.append_message(session, role="assistant", tool_calls=calls)
    assert live.set_pending(session, {"tool_call_ids": [], "tool_calls": calls}) is True
    assert [call.name for call in live.resume_plan(session).calls] == ["ls", "pwd"]
    live.append_message(session, role="tool", tool_call_id="", content="cards.txt")
    assert pending_of(live, session)["tool_calls"] == calls[1:]
    live.append_message(session, role="tool", content="/src")
    assert pending_of(live, session) is None and live.pending(session) == []
