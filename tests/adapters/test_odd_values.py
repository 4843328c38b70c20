"""A value of the wrong type anywhere in a line: the line is read, alone as in its log."""

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.base import Cursor, NativeEvent, SourceRef
from session_memory.adapters.event_text import event_text
from session_memory.adapters.record_checks import checked_record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.roles import REWRITTEN
from session_memory.testing.adapters import BytesSource, lines_of

DATA = Path(__file__).parent.parent / "data"
SAMPLES = {
    **dict.fromkeys(("pi", "copilot", "gemini", "qwen", "cline"), "basic"),
    "roo": "task",
    "amp": "thread",
}
FLAVORS = tuple(SAMPLES)
ODD = (
    *(None, True, -1, 1.5, float("nan"), 10**30, "", "\ud800", "a\nb" * 100, "unnamed"),
    *([], {}, [[]], ["a"], {"text": "t"}, [{"text": [], "type": []}], {"type": {}}),
)


def logs(flavor: str) -> Iterator[tuple[SourceRef, list[bytes]]]:
    for ref in agent_or_substitute(flavor).discover(DATA / flavor / SAMPLES[flavor] / "home"):
        assert isinstance(ref, SourceRef)
        data = ref.path.read_bytes()
        # Only newlines end a line: the lines of a document have carriage returns in them.
        yield ref, (lines_of(data) if ref.role == REWRITTEN else data).rstrip().split(b"\n")


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object or list in a JSON value, with each of its keys."""
    for key in [*value] if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def texts(events: list[NativeEvent]) -> list[str]:
    return [event_text(event) for event in events]


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_value_of_another_type_is_read_alone_as_in_its_log(flavor: str) -> None:
    read, odd = agent_or_substitute(flavor).read, cycle(ODD)
    for ref, lines in logs(flavor):
        for number, line in enumerate(lines[:12]):
            native = json.loads(line)
            for owner, key in places(native):
                kept, owner[key] = owner[key], next(odd)
                changed = json.dumps(native).encode() + b"\n"
                before = lines[max(number - 1, 0)] + b"\n"
                data = before + changed + lines[-1] + b"\n"
                found = [record for _, record in read(BytesSource(ref, data), Cursor())]
                assert len(found) == 3
                for record in found:
                    checked_record(record, len(data), is_log=True)
                    assert record.native_id is None or record.native_id != record.parent_id
                    assert all("\n" not in event.summary for event in record.events)
                alone = next(read(BytesSource(ref, changed), Cursor()))[1]
                if found[1].events:
                    assert texts(alone.events) == texts(found[1].events)
                owner[key] = kept


@pytest.mark.parametrize("flavor", FLAVORS)
def test_names_of_any_length_leave_the_cursor_small(flavor: str) -> None:
    read = agent_or_substitute(flavor).read
    for ref, lines in logs(flavor):
        data = b""
        for line in lines:
            native = json.loads(line)
            for owner, key in places(native):
                names = ("id", "uuid", "model", "sessionId", "response_id", "$rewindTo", "newModel")
                if key in names and isinstance(owner[key], str):
                    owner[key] += "x" * 100_000
            data += json.dumps(native).encode() + b"\n"
        cursors = [cursor for cursor, _ in read(BytesSource(ref, data), Cursor())]
        assert max(len(cursor.state) for cursor in cursors) < 50_000
