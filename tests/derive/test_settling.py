"""Settling records that no adapter of ours writes today, but one of a plugin may."""

from collections.abc import Iterator

import pytest

from session_memory.adapters.base import NativeEvent, Record
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
