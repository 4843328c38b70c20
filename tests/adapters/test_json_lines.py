"""What the shared line reader takes for a record, and that it never depends on where a file ended
when it was read."""

import io
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters import jsonl
from session_memory.adapters.base import Record

PARTS = (
    b'{"a":1}',
    b'{"a":"}{"}',
    b'{"text":"quote \\" and }"}',
    b'{"deep":{"list":[{},{"b":null}]}}',
    b'{"odd":NaN}',
    b'{"surrogate":"\\ud800"}',
    b'{"bytes":"\xff"}',
    b'{"open":',
    b"}",
    b"{",
    b"rubbish",
    b"123",
    b'"text"',
    b"[{}]",
    b"\0\0",
    b" ",
    b"\r",
    b"\t",
    b"\n",
    b"\n",
    b"\n",
)


def read(data: bytes, offset: int = 0) -> list[jsonl.Line]:
    """The records, as an adapter that knows only JSON objects gets them."""
    found: list[jsonl.Line] = []

    def translate(start: int, length: int, line: bytes | None) -> Record:
        record = Record(start, length, "s")
        if line is None or not jsonl.is_object(line.removesuffix(b"\n")):
            record.problem = "malformed line"
        record.text = (line or b"").decode("latin-1")
        return record

    for end, record in jsonl.records(io.BytesIO(data[offset:]), offset, translate):
        assert end == record.offset + record.length
        found.append((record.offset, record.length, record.text.encode("latin-1")))
    assert found == list(jsonl.split_lines(io.BytesIO(data[offset:]), offset))
    return found


def read_while_it_grows(data: bytes, cuts: Iterable[int]) -> list[jsonl.Line]:
    found: list[jsonl.Line] = []
    offset = 0
    for cut in (*sorted(cuts), len(data)):
        found += read(data[:cut], offset)
        offset = found[-1][0] + found[-1][1] if found else 0
    return found


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join), st.data())
def test_a_file_that_grows_gives_the_records_of_the_whole_file(data: bytes, draw) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=6))
    assert read_while_it_grows(data, cuts) == read(data)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join))
def test_every_byte_is_in_a_record_or_blank_or_torn(data: bytes) -> None:
    end = 0
    for offset, length, line in read(data):
        assert not data[end:offset].strip(b" \t\r\n")
        assert line == data[offset : offset + length] + b"\n"
        end = offset + length
    torn = data[end:].strip(b" \t\r\n")
    assert b"\n" not in torn


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\n{"b":', [b'{"a":1}']),
        (b'{"a":1}{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1} \t{"b":2}{"c":3}\n', [b'{"a":1}', b' \t{"b":2}', b'{"c":3}']),
        (b'{"a":1}rubbish\n{"b":2}\n', [b'{"a":1}', b"rubbish", b'{"b":2}']),
        (b'{"a":1}\0\0{"b":2}\n', [b'{"a":1}', b'\0\0{"b":2}']),
        (b'rubbish{"a":1}\n', [b'rubbish{"a":1}']),
        (b'{"a":"}{"}\n', [b'{"a":"}{"}']),
        (b'{"a":1}\r\n\r\n  {"b":2}  \n', [b'{"a":1}', b'  {"b":2}']),
        (b"[1,2]\n7\nnull", [b"[1,2]", b"7"]),
        (b"\0\0\n", [b"\0\0"]),
    ],
)
def test_records_of_a_line(data: bytes, expected: list[bytes]) -> None:
    assert [line.removesuffix(b"\n") for _, _, line in read(data) if line] == expected


def test_many_tiny_objects_on_one_line_stay_one_piece_from_a_bound_on() -> None:
    found = read(b"{}" * 5000 + b"\n")
    assert len(found) == 1001
    assert found[-1] == (2000, 8000, b"{}" * 4000 + b"\n")


def test_deep_nesting_is_no_crash() -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    assert read(deep) == []
    assert [length for _, length, _ in read(deep + b"{}\n")] == [len(deep) + 2]
