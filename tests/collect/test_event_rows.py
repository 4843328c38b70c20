"""A settled event as a row: every field comes from where its name says."""

import pytest

from session_memory.adapters.base import NativeEvent, Record
from session_memory.derive.settle.settling import row_of
from session_memory.store.event_rows import EventRow

# About no database.
pytestmark = pytest.mark.only("sqlite")


def test_every_field_of_a_row_has_the_value_of_its_name() -> None:
    record = Record(
        offset=1001, length=1002, session="s", ts=1003, key=b"the key", is_sidechain=True
    )
    event = NativeEvent(
        kind="the kind",
        role="the role",
        summary="the summary",
        native_kind="the native kind",
        marks=("one mark", "another"),
        tool="the tool",
        call_id="the call",
        response_id="the response",
        model="the model",
        is_error=True,
        duration_ms=1004,
        exit_code=1005,
        path="the path",
        text="the words",
    )
    row = row_of(record, event, block=1006, seq=1007, parent=1008, source_id=1009)
    assert row == EventRow(
        seq=1007,
        ts=1003,
        kind="the kind",
        marks="one mark,another",
        role="the role",
        tool="the tool",
        native_kind="the native kind",
        model="the model",
        parent_seq=1008,
        branch=None,
        summary="the summary",
        source_id=1009,
        place=1001,
        length=1002,
        record=b"the key",
        block=1006,
        call_id="the call",
        response_id="the response",
        path="the path",
        tokens=0,
        is_sidechain=True,
        is_error=True,
        duration_ms=1004,
        exit_code=1005,
        words="the words",
    )
