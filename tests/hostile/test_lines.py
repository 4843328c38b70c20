"""Lines that no agent should write: whatever they are, they are accounted for, and what stands
around them is collected."""

import gc
import json
import string
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.adapters.claude.lines import ClaudeLine, ClaudeMessage, TokenUsage
from session_memory.collect.discover import Root
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.time import now_ms
from session_memory.derive.rebuilding import rebuild
from session_memory.store.memory_store import temporary_store

from .conftest import HOST, Memory, assert_sound, collect, run_child
from .logs import assistant, call, corpus, encoded, log, put, result, rounds, user, uuid

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

S = uuid("session")
UID = f"claude:{S}"
MB = 1024 * 1024


def write(memory: Memory, *lines: bytes) -> Path:
    """A log with ``lines`` between two rounds of a plain conversation."""
    before, after = rounds(S, 1), rounds(S, 1, start=1000)
    path = log(memory.root, S, [])
    body = [b"".join(map(encoded, before)), *lines, b"".join(map(encoded, after))]
    path.write_bytes(b"".join(body))
    return path


def assert_around(memory: Memory) -> None:
    """Both rounds around the lines are there, the lines are accounted for, all bytes are kept."""
    with memory.opened() as store:
        row = store.sessions.row(UID)
        assert row is not None
        uids = {event.event_uid for event in store.events.of(row.id, UID)}
        for n in (0, 1, 2, 3, 1000, 1001, 1002, 1003):
            assert f"{uuid(S, n)}:0" in uids
    memory.assert_sound()


# ---------------------------------------------------------------- long lines


@pytest.mark.slow
@pytest.mark.only("sqlite")  # Such a line is never given to a database.
def test_a_line_of_100_mb_is_a_problem_and_no_burden(memory: Memory) -> None:
    path = log(memory.root, S, rounds(S, 1))
    start = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"type":"user","message":{"content":"')
        # A hole in the file: it reads as zeros and costs no disk.
        file.truncate(file.tell() + 100 * MB)
        file.seek(0, 2)
        file.write(b'"}}\n')
        length = file.tell() - start
        file.write(b"".join(map(encoded, rounds(S, 1, start=1000))))
    done = run_child("sync", memory.root, memory.where)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak_mb"] < 250
    with memory.opened() as store:
        assert [(p.place, p.length, p.reason) for p in store.problems.every()] == [
            (start, length - 1, "line too long")
        ]
    assert_around(memory)


@pytest.mark.slow
def test_a_line_of_20_mb_is_an_event(memory: Memory, database: str) -> None:
    # A server takes seconds for each 10 MB. Its own limits, as of indexed texts, are far below.
    size = {"sqlite": 20 * MB, "postgresql": 5 * MB}[database]
    text = b"all work and no play " * (size // 21)
    write(memory, encoded(user(S, 4, "TEXT")).replace(b"TEXT", text))
    done = run_child("sync", memory.root, memory.where)
    assert done.returncode == 0, done.stderr
    # A line that is parsed is held a few times over: as bytes, as text, and once on its way.
    assert json.loads(done.stdout)["peak_mb"] < 160
    assert memory.problems() == []
    assert sum(text.startswith("all work") for text in memory.summaries(UID)) == 1
    with memory.opened() as store:
        assert_sound(store, sample=1)


def test_a_long_line_is_read_to_its_end_when_it_arrives_in_pieces(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 1024)
    monkeypatch.setattr("session_memory.collect.file_pieces.LONGEST_LINE", 4096)
    monkeypatch.setattr("session_memory.adapters.jsonl.MAX_LINE", 4096)
    path = write(memory, b"\n\n", b"x" * 20_000 + b"\n", b"\n", b"y" * 4095 + b"\n")
    whole = path.read_bytes()
    for end in (*range(0, len(whole), 3000), len(whole)):
        path.write_bytes(whole[:end])
        memory.sync()
    with memory.opened() as store:
        places = [(p.length, p.reason) for p in store.problems.every()]
    assert places == [(20_000, "line too long"), (4095, "malformed line")]
    assert_around(memory)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [b"{}\n", b"x\n", pytest.param(b'{"type":"user"}\n', marks=pytest.mark.only("sqlite"))],
    ids=ascii,
)
def test_very_many_tiny_lines_are_no_burden(memory: Memory, line: bytes, database: str) -> None:
    # Whether memory grows with the lines is seen on SQLite; a server takes longer for each.
    count = {"sqlite": 300_000, "postgresql": 40_000}[database] // len(line)
    path = log(memory.root, S, [])
    path.write_bytes(line * count)
    done = run_child("sync", memory.root, memory.where)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak_mb"] < 120
    with memory.opened() as store:
        accounts = list(store.sources.account().values())
        assert [(a.lines, a.unaccounted) for a in accounts] == [(count, 0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("record", "most_mb"),
    [
        ({"type": "assistant", "message": {"content": [{}] * 1_000_000}}, 90),
        ({"type": "user", "toolUseResult": [0] * 500_000}, 120),
        ({"type": "user", "content": {str(n): n for n in range(100_000)}}, 90),
    ],
    ids=["blocks", "numbers", "fields"],
)
@pytest.mark.only("sqlite")  # It becomes one event, like any other line.
def test_a_line_of_very_many_parts_is_no_burden(
    memory: Memory, record: dict[str, Any], most_mb: int
) -> None:
    check_no_burden(memory, record, most_mb)


@pytest.mark.slow
def test_a_line_of_very_many_texts_is_no_burden(memory: Memory) -> None:
    texts = [{"type": "text", "text": "a"}] * 5_000
    check_no_burden(memory, {"type": "user", "message": {"content": texts}}, 120)


def check_no_burden(memory: Memory, record: dict[str, Any], most_mb: int) -> None:
    write(memory, encoded(user(S, 4) | record))
    done = run_child("sync", memory.root, memory.where)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak_mb"] < most_mb
    with memory.opened() as store:
        assert_sound(store, sample=1)


def test_a_sync_leaves_nothing_to_the_collector(memory: Memory) -> None:
    """It is off meanwhile: whatever held itself would be held until the end."""
    put(corpus(memory.root, 40, 500))
    write(memory, b"x\n" * 500, b'{"uuid":7,"durationMs":NaN}\n' * 500, b"[" * 5000 + b"\n")
    with memory.opened() as store:
        gc.collect()
        collect(store, memory.root)
        assert gc.collect() < 500


# ---------------------------------------------------------------- what is no JSON


def cases(values: dict[str, Any], parsed: tuple[str, ...]) -> list[Any]:
    """Cases of a test. Those that are decided by parsing alone run on one database."""
    on_sqlite = (pytest.mark.only("sqlite"),)
    return [
        pytest.param(value, id=name, marks=on_sqlite if name.startswith(parsed) else ())
        for name, value in values.items()
    ]


NO_JSON = {
    "not JSON": b"hello",
    "cut off": b'{"type":"user","message":{"content":"he',
    "invalid UTF-8": b'{"type":"user","message":{"content":"\xff\xfe"}}',
    "a NUL byte": b'{"type":"user","message":{"content":"a\x00b"}}',
    "only NUL bytes": b"\x00" * 100,
    "an array": b"[1,2,3]",
    "a number": b"7",
    "null": b"null",
    "deep arrays": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b'{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep inside": b'{"type":"user","x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "an integer of 5,000 digits": b'{"type":"user","uuid":' + b"9" * 5000 + b"}",
    "an escape cut off": b'{"type":"user","x":"\\u12"}',
    "a control character": b'{"type":"user","x":"\x01"}',
    "UTF-16": '{"type":"user"}'.encode("utf-16-be"),
}


NO_JSON_PARSED = ("cut off", "deep", "an ", "a number", "null", "a control", "UTF-16")


@pytest.mark.parametrize("line", cases(NO_JSON, NO_JSON_PARSED))
def test_a_line_that_is_no_record_is_a_problem_with_its_place(memory: Memory, line: bytes) -> None:
    path = write(memory, line + b"\n")
    memory.sync()
    with memory.opened() as store:
        problems = store.problems.every()
    assert len(problems) == line.count(b"\n") + 1
    assert problems[0].place == path.read_bytes().index(b"\n" + line + b"\n") + 1
    assert problems[0].reason and problems[0].detail
    assert_around(memory)


# ---------------------------------------------------------------- what is JSON, barely


def _nested(depth: int) -> str:
    """Deep, and refused by the strict decoder for something else: it goes the lenient way."""
    return f'"content":{"[" * depth}{"]" * depth},"durationMs":NaN'


BARELY = {
    "a lone surrogate": r'"message":{"content":"\ud800"}',
    "surrogates everywhere": r'"uuid":"\ud800","cwd":"\udfff","parentUuid":"\ud800","x":"\udc00"',
    "an escaped NUL": r'"message":{"content":"a\u0000b"},"cwd":"\u0000","gitBranch":"\u0000"',
    "NUL in ids": r'"uuid":"\u000000000-0000-0000-0000-000000000000","requestId":"\u0000"',
    "NaN": '"durationMs":NaN,"message":{"content":"x"}',
    "infinities": '"durationMs":Infinity,"retryAttempt":-Infinity,"message":{"content":"x"}',
    "a float too large": '"durationMs":1e999,"message":{"content":"x"}',
    "a huge integer": '"x":123456789012345678901234567890,"message":{"content":"x"}',
    "huge durations": '"type":"system","subtype":"turn_duration","durationMs":1e300',
    "a negative duration": '"type":"system","subtype":"turn_duration","durationMs":-5',
    "a duration as text": '"type":"system","subtype":"turn_duration","durationMs":"long"',
    "duplicate keys": '"type":"assistant","type":"user","message":{"content":"x"}',
    **{f"nested {depth} deep and odd": _nested(depth) for depth in range(100, 1100, 100)},
    "a time that is none": '"timestamp":"yesterday","message":{"content":"x"}',
    "a time as a number": '"timestamp":1751364000,"message":{"content":"x"}',
    "a time far away": '"timestamp":"9999-12-31T23:59:59.999Z","message":{"content":"x"}',
    "a time before all": '"timestamp":"0001-01-01T00:00:00.000Z","message":{"content":"x"}',
    "its own parent": f'"uuid":"{uuid("x")}","parentUuid":"{uuid("x")}"',
    "an unknown type": '"type":"../../etc/passwd"',
    "an empty type": '"type":""',
    "a type with a comma": '"type":"system","subtype":"a,b\\n"',
    "everything null": ",".join(f'"{name}":null' for name in ClaudeLine.__struct_fields__),
    "everything a number": ",".join(f'"{name}":7' for name in ClaudeLine.__struct_fields__),
    "everything a list": ",".join(f'"{name}":[]' for name in ClaudeLine.__struct_fields__),
    "everything an object": ",".join(f'"{name}":{{}}' for name in ClaudeLine.__struct_fields__),
}


# The others have texts, times and numbers that a database may refuse.
BARELY_PARSED = (
    *("nested", "NaN", "infinities", "a float", "a negative", "a duration as", "duplicate"),
    *("a time that", "a time as", "its own", "an unknown", "an empty", "everything"),
)


@pytest.mark.parametrize("fields", cases(BARELY, BARELY_PARSED))
def test_an_odd_line_is_an_event_or_a_problem(memory: Memory, fields: str) -> None:
    write(memory, f'{{"type":"user","sessionId":"{S}",{fields}}}\n'.encode())
    memory.sync()
    assert_around(memory)


USAGES = {
    "floats": {"input_tokens": 10.0, "output_tokens": 5.5},
    "negative": {"input_tokens": -10, "output_tokens": -5},
    "texts": {"input_tokens": "10", "output_tokens": "many"},
    "as large as fits": {"input_tokens": 2**63 - 1, "output_tokens": 2**63 - 1},
    "larger than fits": {"input_tokens": 2**63, "output_tokens": 2**64},
    "enormous": {"input_tokens": 10**300, "output_tokens": 10**30},
    "truth values": {"input_tokens": True, "output_tokens": False},
    "cache disagrees": {
        "cache_creation_input_tokens": 5,
        "cache_creation": {"ephemeral_1h_input_tokens": 500},
    },
    "huge cache": {
        "cache_creation": {
            "ephemeral_1h_input_tokens": 2**62,
            "ephemeral_5m_input_tokens": 2**62,
        }
    },
    "lists": {"input_tokens": [1], "server_tool_use": [], "cache_creation": 7},
    "nothing": {},
}


USAGES_PARSED = ("floats", "texts", "truth", "cache disagrees", "lists", "nothing")


@pytest.mark.parametrize("usage", cases(USAGES, USAGES_PARSED))
def test_odd_usage_never_breaks_a_sum(memory: Memory, usage: dict[str, Any]) -> None:
    odd = []
    for n in range(4, 10):
        record = assistant(S, n)
        record["message"]["usage"] = usage
        odd.append(encoded(record))
    write(memory, *odd)
    memory.sync()
    assert_around(memory)
    with memory.opened() as store:
        session = store.sessions.get(UID)
    assert session is not None
    assert session.cost.input_tokens >= 40


def test_durations_add_up_without_end(memory: Memory) -> None:
    spent = {"type": "system", "subtype": "turn_duration", "durationMs": 999_999_999_999_999}
    records = [{**spent, "uuid": uuid("spent", n), "sessionId": S} for n in range(9_300)]
    write(memory, *map(encoded, records))
    memory.sync()
    with memory.opened() as store:
        assert store.sessions.get(UID) is not None
        assert_sound(store)


def test_a_call_may_be_as_odd_as_it_likes(memory: Memory) -> None:
    odd = call(S, 4, command="cat \0 \x1b[31m && pytest '")
    answer = result(S, 5, "Error: Exit code 99999999999999999999\n\0", is_error=True)
    block = odd["message"]["content"][0]
    for name, value in (("id", "\0"), ("name", "Bash\0\n" * 100), ("input", [[["x"]]])):
        block = {**block, name: value}
        write(
            memory,
            encoded({**odd, "message": {**odd["message"], "content": [block]}}),
            encoded(answer),
        )
        memory.sync()
        assert_around(memory)


# ---------------------------------------------------------------- anything at all

_names = (
    *ClaudeLine.__struct_fields__,
    *ClaudeMessage.__struct_fields__,
    *TokenUsage.__struct_fields__,
)
_types = (
    *("user", "assistant", "system", "attachment", "progress", "summary", "mode", "ai-title"),
    *("queue-operation", "text", "tool_use", "tool_result", "thinking", "image"),
    *("turn_duration", "api_error", "compact_boundary", "local_command", "queued_command"),
)
_texts = st.one_of(
    st.sampled_from((*_types, S, uuid(S, 1), "", "2026-07-01T10:00:00.000Z", "\0", "\ud800")),
    st.text(max_size=20),
    st.text(st.characters(codec=None), max_size=8),
)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    _texts,
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(_names), inner, max_size=6),
    ),
    max_leaves=12,
)
_records = st.dictionaries(st.sampled_from(_names), _values, max_size=12)
_typed = st.tuples(st.sampled_from(_types), _records).map(lambda pair: {**pair[1], "type": pair[0]})
_odd_json = _typed.map(lambda record: json.dumps(record).encode())
_plain = [encoded(record)[:-1] for record in rounds(S, 2)]


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """A good line with a few bytes replaced, removed or put in."""
    line = bytearray(draw(st.sampled_from(_plain)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(line) - 1))
        end = draw(st.integers(start, min(start + 8, len(line))))
        line[start:end] = draw(st.binary(max_size=6))
        if not line:
            break
    return bytes(line).replace(b"\n", b" ")


@st.composite
def _retyped(draw: st.DrawFn) -> bytes:
    """A good line in which one field, however deep, has another value."""
    record = json.loads(draw(st.sampled_from(_plain)))
    owner: Any = record
    while True:
        key = draw(st.sampled_from(sorted(owner) if isinstance(owner, dict) else range(len(owner))))
        inner = owner[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            break
        owner = inner
    owner[key] = draw(_values)
    return json.dumps(record).encode()


_lines = st.one_of(
    _odd_json,
    _retyped(),
    _mutated(),
    st.binary(max_size=60).map(lambda line: line.replace(b"\n", b" ")),
    st.text(string.printable, max_size=40).map(lambda text: text.replace("\n", " ").encode()),
)


@settings(
    max_examples=times(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(_lines, max_size=8), st.integers(0, 2000))
def test_any_lines_at_all_are_accounted_for_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cut: int
) -> None:
    root = tmp_path_factory.mktemp("any")
    before, after = rounds(S, 1), rounds(S, 1, start=1000)
    path = log(root, S, before)
    body = path.read_bytes() + b"".join(line + b"\n" for line in lines)
    body += b"".join(map(encoded, after))
    config = Config()
    where = [Root("claude", root, True, False)]
    with temporary_store() as store:
        for end in (min(cut, len(body)), len(body)):
            path.write_bytes(body[:end])
            sync(store, config, where, host=HOST)
        assert_sound(store)
        seen = {
            event.event_uid
            for session in store.sessions.every()
            for event in store.events.of(_id(store, session.session_uid), session.session_uid)
        }
        assert {f"{uuid(S, n)}:0" for n in (0, 3, 1000, 1003)} <= seen
        print_before = store.fingerprint()
        rebuild(store, now_ms(), config.domain_of, lambda source: None)
        assert store.fingerprint() == print_before
    with temporary_store() as fresh:
        sync(fresh, config, where, host=HOST)
        assert fresh.fingerprint() == print_before


def _id(store: Any, uid: str) -> int:
    row = store.sessions.row(uid)
    assert row is not None
    return int(row.id)
