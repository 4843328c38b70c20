"""A document that is rewritten as a whole, kept as lines that only grow."""

import json
from typing import Any

import pytest
from effort import IS_REPEATABLE, times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.document_lines import DamagedDocument, DocumentLines, document_in

MESSAGE = st.fixed_dictionaries(
    {"id": st.integers(0, 4), "text": st.sampled_from(("", "a", "é\n]}", '"\\', "\0", "{"))}
)
LIST = st.lists(MESSAGE | st.integers(0, 9), max_size=4)
DOCUMENT = st.one_of(
    LIST,
    st.fixed_dictionaries({"at": st.integers(0, 9), "messages": LIST, "end": st.just([1, "]"])}),
    st.fixed_dictionaries({"inner": st.just({"messages": [1]}), "messages": LIST}),
    st.fixed_dictionaries({"messages": st.none(), "other": LIST}),
)
RUBBISH = st.sampled_from((b"", b"null", b"[[[", b'{"messages": [}', b"\xff\xfe", b'{"a" 1}'))


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    native = draw(DOCUMENT)
    text = json.dumps(native, indent=draw(st.sampled_from((None, 2))), ensure_ascii=False)
    data = text.encode()
    match draw(st.integers(0, 9)):
        case 0 | 1 | 2:
            data = data[: draw(st.integers(0, len(data)))]
        case 3:
            data = data.replace(b"\n", b"\r\n")
        case 4:
            data = data.replace(b"a", b"\xff")
        case 5:
            data = draw(RUBBISH)
    return data


def grown(lines: bytes, document: bytes) -> bytes:
    """The lines after one more sync: what no reader took is replaced."""
    whole = lines[: lines.rfind(b"\n") + 1]
    return whole + DocumentLines(whole).add(document)


def split(lines: bytes) -> list[bytes]:
    found = lines.split(b"\n")
    return found if found[-1] else found[:-1]


@settings(max_examples=times(150), derandomize=IS_REPEATABLE, deadline=None, database=None)
@given(generations=st.lists(documents(), min_size=1, max_size=5))
def test_every_generation_can_be_put_together_byte_for_byte(generations: list[bytes]) -> None:
    lines = b""
    for document in generations:
        before, lines = lines, grown(lines, document)
        assert lines.startswith(before[: before.rfind(b"\n") + 1]), "a whole line never changes"
        assert document_in(split(lines)) == document
        for line in split(lines)[: lines.count(b"\n")]:
            assert isinstance(json.loads(line), dict)


@settings(max_examples=times(60), derandomize=IS_REPEATABLE, deadline=None, database=None)
@given(native=DOCUMENT, cuts=st.lists(st.floats(0, 0.99), max_size=3))
def test_a_document_that_was_cut_and_grew_gives_the_same_lines(
    native: Any, cuts: list[float]
) -> None:
    document = json.dumps(native, indent=2).encode()
    lines = b""
    for size in sorted(int(cut * len(document)) for cut in cuts):
        lines = grown(lines, document[:size])
    assert grown(lines, document) == grown(b"", document)


def message(own: int, text: str = "said") -> dict[str, Any]:
    return {"id": own, "text": text}


def lines_for(*generations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that the last generation adds."""
    lines = b""
    for messages in generations:
        before = lines.count(b"\n")
        lines = grown(lines, json.dumps({"messages": messages}).encode())
    return [json.loads(line) for line in split(lines)[before:]]


def test_a_document_that_grows_by_one_message_takes_two_lines() -> None:
    messages = [message(own) for own in range(100)]
    new, generation = lines_for(messages[:99], messages)
    assert new == {"message": message(99)}
    assert generation["generation"] == [99, [[102, 102]]]


def test_equal_messages_are_lines_of_their_own() -> None:
    found = lines_for([message(1), message(1), message(1)])
    assert sum("message" in line for line in found) == 3
    assert lines_for([message(1)] * 3, [message(1)] * 2)[0] == {"back": True, "message": message(1)}


def test_a_changed_message_is_not_lost() -> None:
    changed = lines_for([message(1), message(2)], [message(1), message(2, "more")])
    assert [*changed[0]] == ["message"]
    assert not any("back" in line for line in changed)


def test_a_document_that_lost_its_end_says_where_it_ends_now() -> None:
    three = [message(1), message(2), message(3)]
    back, new, _ = lines_for(three, [message(1), message(4)])
    assert back == {"back": True, "message": message(1)}
    assert new == {"message": message(4)}
    assert lines_for(three, [])[0] == {"back": True}


def test_messages_that_a_summary_stands_for_are_not_lost() -> None:
    three = [message(1), message(2), message(3)]
    found = lines_for(three, [message(9, "summary"), message(3)])
    assert not any("back" in line for line in found)


@pytest.mark.parametrize(
    "lines",
    [
        [b"{}"],
        [b'{"generation":[0,[[0,99999999999]]],"head":null,"tail":null,"gaps":["","","",{}]}'],
        [b'{"generation":7}'],
        [b'{"generation":[0,[]],"head":5,"tail":null,"gaps":["","","",{}]}'],
        [b'{"generation":[0,[]],"head":null,"tail":null,"gaps":["","","",{}],"size":9,"crc32":0}'],
    ],
)
def test_lines_that_give_no_document_are_damaged(lines: list[bytes]) -> None:
    with pytest.raises(DamagedDocument):
        document_in(lines)
