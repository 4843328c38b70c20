"""Settling records that no adapter of ours writes today, but one of a plugin may."""

from collections.abc import Iterator

import pytest

from session_memory.adapters.base import NativeEvent, NativeUsage, Record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.derive.settle import SettleState, Settling
from session_memory.derive.stored_events import StoredEvents
from session_memory.store.sessions import CollectedSession
from session_memory.testing.collecting import new_store


@pytest.fixture
def settling() -> Iterator[Settling]:
    """Settling of a session of which nothing is stored yet."""
    row = CollectedSession(uid="claude:alpha", flavor="claude", native_id="alpha", state=b"")
    with new_store() as store:
        yield Settling(SettleState(), StoredEvents(store, row), agent_or_substitute("claude"))


def record(number: int, *events: NativeEvent) -> Record:
    return Record(
        offset=number * 10,
        length=10,
        session="alpha",
        native_id=f"r{number}",
        parent_id=f"r{number - 1}" if number else None,
        key=f"key {number}".encode(),
        events=list(events),
    )


def test_an_answer_that_ends_a_turn_keeps_its_other_marks(settling: Settling) -> None:
    answer = NativeEvent("assistant_msg", "assistant", marks=("decision",), ends_turn=True)
    (row,) = settling.settle(record(0, answer), 1)
    assert row.marks == "decision,completion"
    settling.settle(record(1, NativeEvent("assistant_msg", "assistant")), 1)
    assert row.marks == "decision"


def test_an_answer_without_other_marks_has_the_one(settling: Settling) -> None:
    answer = NativeEvent("assistant_msg", "assistant", ends_turn=True)
    (row,) = settling.settle(record(0, answer), 1)
    assert row.marks == "completion"


def test_a_completion_that_is_followed_by_a_prompt_stays(settling: Settling) -> None:
    answer = NativeEvent("assistant_msg", "assistant", ends_turn=True)
    (row,) = settling.settle(record(0, answer), 1)
    prompt = NativeEvent("user_msg", "user", is_prompt=True, text="go on")
    settling.settle(record(1, prompt), 1)
    settling.settle(record(2, NativeEvent("assistant_msg", "assistant")), 1)
    assert row.marks == "completion"


def test_tokens_are_on_the_last_block_of_a_response_even_after_others(settling: Settling) -> None:
    """Three responses are remembered, and each counts once however many blocks it has."""
    rows = []
    for number, response in enumerate(("one", "two", "two", "three", "one")):
        block = NativeEvent("assistant_msg", "assistant", response_id=response, model="opus")
        answer = record(number, block)
        answer.usage = NativeUsage(response, "opus", output_tokens=10 + number)
        rows += settling.settle(answer, 1)
    assert [row.tokens for row in rows] == [0, 0, 12, 13, 14]


def test_an_earlier_block_with_more_tokens_decides(settling: Settling) -> None:
    rows = []
    for number, output in enumerate((20, 5)):
        block = NativeEvent("assistant_msg", "assistant", response_id="one", model="opus")
        answer = record(number, block)
        answer.usage = NativeUsage("one", "opus", output_tokens=output)
        rows += settling.settle(answer, 1)
    assert [row.tokens for row in rows] == [0, 20]


def test_only_answers_wait_for_their_usage(settling: Settling) -> None:
    """A record without events says what the answers before it used, and no other event."""
    prompt = NativeEvent("user_msg", "user", is_prompt=True, text="go")
    note = NativeEvent("lifecycle", "system")
    answer = NativeEvent("assistant_msg", "assistant", model="opus")
    rows = [
        row
        for number, event in enumerate((prompt, answer, note))
        for row in settling.settle(record(number, event), 1)
    ]
    used = record(3)
    used.usage = NativeUsage("turn 1", "opus", output_tokens=7)
    settling.settle(used, 1)
    assert [(row.response_id, row.tokens) for row in rows] == [
        (None, 0),
        ("turn 1", 7),
        (None, 0),
    ]
    assert settling.usage_seq == 1


def test_an_api_retry_counts_as_one_and_nothing_else_does(settling: Settling) -> None:
    events = (
        NativeEvent("error", "system", marks=("retry",)),
        NativeEvent("lifecycle", "system"),
        NativeEvent("assistant_msg", "assistant", model="opus"),
    )
    for number, event in enumerate(events):
        settling.settle(record(number, event), 1)
    assert settling.state.retries == 1
    # A copied record belongs to the session that owns it.
    settling.settle(record(3, NativeEvent("error", "system", marks=("retry",))), 1, owned=False)
    assert settling.state.retries == 1
    assert settling.state.event_count == 3


def test_only_the_end_of_a_turn_says_how_long_it_took(settling: Settling) -> None:
    events = (
        NativeEvent("lifecycle", "system", duration_ms=400),
        NativeEvent("completion", "system", duration_ms=1500),
    )
    for number, event in enumerate(events):
        settling.settle(record(number, event), 1)
    settling.settle(record(2, NativeEvent("completion", "system", duration_ms=9)), 1, owned=False)
    assert settling.state.turn_ms == 1500


def test_the_next_prompt_after_an_interrupt_intervenes_unless_the_agent_went_on(
    settling: Settling,
) -> None:
    def prompt() -> NativeEvent:
        return NativeEvent("user_msg", "user", is_prompt=True, text="go")

    def stop() -> NativeEvent:
        return NativeEvent("lifecycle", "user", is_interrupt=True)

    answer = NativeEvent("assistant_msg", "assistant", model="opus")
    events = (prompt(), stop(), prompt(), stop(), answer, prompt())
    kinds = [
        row.kind
        for number, event in enumerate(events)
        for row in settling.settle(record(number, event), 1)
    ]
    assert [kinds[0], kinds[2], kinds[5]] == ["user_msg", "human_intervention", "user_msg"]


def test_a_record_that_only_repeats_gives_its_children_its_parent(settling: Settling) -> None:
    settling.settle(record(0, NativeEvent("user_msg", "user")), 1)
    repeated = record(1, NativeEvent("assistant_msg", "assistant", is_repeated=True))
    assert settling.settle(repeated, 1) == []
    follower = Record(20, 10, "alpha", follows=True, events=list(repeated.events))
    assert settling.settle(follower, 1) == []
    (row,) = settling.settle(record(2, NativeEvent("assistant_msg", "assistant")), 1)
    assert (row.seq, row.parent_seq) == (1, 0)
