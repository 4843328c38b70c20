"""The skill log, and every bug of its predecessor as a test that bears its name."""

import errno
import fcntl
import json
import os
import random
import resource
import signal
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from forking import start_fork, start_script
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.errors import (
    InvalidId,
    InvalidRecord,
    StoreError,
    StoreFull,
    UnsafePath,
)
from session_memory.core.schema import Attempt, Entry
from session_memory.live.attempts import may_try_again
from session_memory.live.skill_log import SkillLog

KILLS = int(os.environ.get("SESSION_MEMORY_TEST_KILLS", "8"))
CONCURRENT = int(os.environ.get("SESSION_MEMORY_TEST_APPENDS", "50"))
TIME = "2026-07-01T10:00:00.123456789+02:00"


def entry(session: str = "s1", **more: Any) -> Entry:
    return Entry(session_id=session, timestamp=TIME, **{"skill": "review", **more})


@pytest.fixture
def log(tmp_path: Path) -> SkillLog:
    return SkillLog(tmp_path / "logs")


def numbers(log: SkillLog, session: str = "s1") -> list[Any]:
    return [found.input for found in log.read(session)]


# ---------------------------------------------------------------- what it promises


def test_what_was_appended_is_read_back_in_order(log: SkillLog) -> None:
    written = [
        entry(input=1, attempts=(Attempt(attempt=1, model="small", verified=True),)),
        entry(input={"z": 1, "a": [None, 1.5, "ü\ud800\0"]}, final_status="OK", duration_ms=3),
    ]
    for one in written:
        log.append(one)
    assert log.read("s1") == written
    assert log.read("s1").problems == []


def test_a_line_is_a_record_of_the_contract_with_empty_optional_fields_left_out(
    log: SkillLog,
) -> None:
    log.append(entry(input={"z": 1, "a": 2}))
    (line,) = log.path_of("s1").read_bytes().splitlines(keepends=True)
    assert line.endswith(b"}\n")
    output = json.loads(line)
    assert output["timestamp"] == TIME
    assert not {"file_path", "model_used", "duration_ms", "message"} & output.keys()
    assert list(output)[:3] == ["session_id", "timestamp", "skill"]
    assert list(output["input"]) == ["z", "a"]


def test_fields_of_a_newer_writer_survive(log: SkillLog) -> None:
    log.append({"session_id": "s1", "timestamp": TIME, "skill": "x", "mood": {"calm": True}})
    (found,) = log.read("s1")
    assert found.to_dict()["mood"] == {"calm": True}


def test_a_missing_log_is_empty_and_reading_makes_nothing(log: SkillLog) -> None:
    assert log.read("nobody") == []
    assert log.sessions() == []
    assert not log.directory.exists()


def test_blank_lines_are_nothing(log: SkillLog) -> None:
    log.append(entry(input=1))
    with log.path_of("s1").open("ab") as file:
        file.write(b"\n  \n\r\n")
    log.append(entry(input=2))
    assert numbers(log) == [1, 2]
    assert log.read("s1").problems == []


def test_sessions_are_the_logs_with_usable_names(log: SkillLog) -> None:
    for session in ("b", "a", "x:1@2+3-4_5.6"):
        log.append(entry(session))
    (log.directory / "not\na name.jsonl").write_text("")
    (log.directory / "notes.txt").write_text("")
    (log.directory / "folder.jsonl").mkdir()
    assert log.sessions() == ["a", "b", "x:1@2+3-4_5.6"]


def test_an_entry_is_one_write_and_synced_before_append_returns(
    log: SkillLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(entry(input=0))
    happened: list[str] = []
    write, fsync = os.write, os.fsync

    def seen_write(descriptor: int, data: bytes) -> int:
        happened.append("write")
        return write(descriptor, data)

    def seen_fsync(descriptor: int) -> None:
        happened.append("fsync")
        fsync(descriptor)

    monkeypatch.setattr(os, "write", seen_write)
    monkeypatch.setattr(os, "fsync", seen_fsync)
    log.append(entry(input="x" * 1_000_000))
    assert happened == ["write", "fsync"]


# ---------------------------------------------------------------- the predecessor's bugs


@pytest.mark.parametrize("length", [65_535, 65_536, 65_537, 5_000_000])
def test_a_line_over_64_kib_made_it_and_everything_after_it_unreadable(
    log: SkillLog, length: int
) -> None:
    for one in (1, "x" * length, 3):
        log.append(entry(input=one))
    assert numbers(log) == [1, "x" * length, 3]


TORN = (
    b'{"session_id":"s1","timest',
    b"{",
    b"\xff\xfe\x00",
    b"\0" * 4096,
    '{"session_id":"ü'.encode()[:-1],
    b'{"session_id":"s1","input":"' + b"x" * 70_000,
)


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_last_line_made_the_whole_log_unreadable_for_ever(
    log: SkillLog, torn: bytes
) -> None:
    log.append(entry(input=1))
    size = log.path_of("s1").stat().st_size
    with log.path_of("s1").open("ab") as file:
        file.write(torn)
    found = log.read("s1")
    assert [one.input for one in found] == [1]
    assert found.problems == [(size, len(torn), "unfinished last line")]


@pytest.mark.parametrize("torn", TORN)
def test_the_next_append_was_glued_to_a_torn_last_line(log: SkillLog, torn: bytes) -> None:
    log.append(entry(input=1))
    size = log.path_of("s1").stat().st_size
    with log.path_of("s1").open("ab") as file:
        file.write(torn)
    log.append(entry(input=2))
    log.append(entry(input=3))
    found = log.read("s1")
    assert [one.input for one in found] == [1, 2, 3]
    assert [(place, length) for place, length, _ in found.problems] == [(size, len(torn) + 1)]
    assert torn in log.path_of("s1").read_bytes(), "what was torn stays as it was"


def test_an_entry_torn_off_right_before_its_newline_is_an_entry(log: SkillLog) -> None:
    log.append(entry(input=1))
    log.append(entry(input=2))
    os.truncate(log.path_of("s1"), log.path_of("s1").stat().st_size - 1)
    assert numbers(log) == [1, 2]
    log.append(entry(input=3))
    assert numbers(log) == [1, 2, 3]
    assert log.read("s1").problems == []


def _fill_the_disk(directory: Path, at: int) -> None:
    """Runs in a process of its own, whose files may not grow past ``at`` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, at))
    log = SkillLog(directory)
    for _ in range(3):
        try:
            log.append(entry(input="x" * 1000))
        except StoreFull as error:
            assert error.hint
        else:
            os._exit(1)
    os._exit(0)


@pytest.mark.parametrize("room", [0, 1, 100])
def test_after_a_full_disk_the_whole_log_was_unreadable_as_well(log: SkillLog, room: int) -> None:
    log.append(entry(input=1))
    limit = log.path_of("s1").stat().st_size + room
    child = start_fork(lambda: _fill_the_disk(log.directory, limit))
    assert child.wait(60) == 0
    assert numbers(log) == [1]
    log.append(entry(input=2))
    assert numbers(log) == [1, 2]
    assert len(log.read("s1").problems) == bool(room)


@pytest.mark.parametrize(
    "session",
    [
        "../../x",
        "..",
        ".",
        "",
        "/etc/passwd",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a\\b",
        "a\0b",
        "a\n",
        "x" * 201,
        "x" * 10_000,
        "\u202e",
        "\ud800",
        None,
        7,
    ],
)
def test_ids_with_dots_and_slashes_wrote_and_read_outside(
    log: SkillLog, tmp_path: Path, session: Any
) -> None:
    with pytest.raises(InvalidRecord):
        log.append({"session_id": session, "timestamp": TIME, "skill": "x"})
    with pytest.raises(InvalidId):
        log.read(session)
    assert list(tmp_path.iterdir()) == []


def test_an_entrys_session_id_could_disagree_with_its_file(log: SkillLog) -> None:
    log.append(entry("mine", input=1))
    log.append(entry("yours", input=2))
    stray = log.path_of("yours").read_bytes()
    with log.path_of("mine").open("ab") as file:
        file.write(stray)
    found = log.read("mine")
    assert [one.input for one in found] == [1]
    assert [problem.reason for problem in found.problems] == ["an entry of session 'yours'"]


def test_logs_with_prompts_were_world_readable(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = SkillLog(tmp_path / "deep" / "er" / "logs")
        log.append(entry())
    finally:
        os.umask(before)
    assert stat.S_IMODE(log.path_of("s1").stat().st_mode) == 0o600
    for place in (log.directory, log.directory.parent, log.directory.parent.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_log_of_the_predecessor_that_was_world_readable_is_made_private(log: SkillLog) -> None:
    log.directory.mkdir()
    log.path_of("s1").write_bytes(b"")
    log.path_of("s1").chmod(0o644)
    log.append(entry())
    assert stat.S_IMODE(log.path_of("s1").stat().st_mode) == 0o600


# ---------------------------------------------------------------- many writers


def _append_many(directory: Path, writer: int, count: int) -> None:
    log = SkillLog(directory)
    for number in range(count):
        log.append(entry(input=[writer, number, "x" * 20_000]))


def test_concurrent_entries_of_20_kb_by_processes_are_all_intact(log: SkillLog) -> None:
    writers = [
        start_fork(lambda number=number: _append_many(log.directory, number, CONCURRENT))
        for number in range(4)
    ]
    assert [writer.wait(300) for writer in writers] == [0] * 4
    found = log.read("s1")
    assert found.problems == []
    assert len(found) == 4 * CONCURRENT
    for writer_number in range(4):
        own = [one.input[1] for one in found if one.input[0] == writer_number]
        assert own == list(range(CONCURRENT))
    assert {len(one.input[2]) for one in found} == {20_000}


def test_threads_heal_a_torn_tail_once_and_lose_nothing(log: SkillLog) -> None:
    log.append(entry(input=-1))
    with log.path_of("s1").open("ab") as file:
        file.write(b'{"torn')
    barrier = threading.Barrier(8)

    def write(number: int) -> None:
        barrier.wait()
        log.append(entry(input=number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert sorted(numbers(log)) == list(range(-1, 8))
    assert len(log.read("s1").problems) == 1


WRITER = """
import sys
from session_memory.core.schema import Entry
from session_memory.live.skill_log import SkillLog
log, number = SkillLog(sys.argv[1]), int(sys.argv[2])
while True:
    log.append(Entry(session_id="s1", timestamp="2026-07-01T10:00:00Z", input=[number, "x" * 9000]))
    print(number, flush=True)
    number += 1
"""


def test_a_killed_writer_loses_nothing_it_was_told_is_there(log: SkillLog) -> None:
    chance, acknowledged = random.Random(4), -1
    for _ in range(KILLS):
        with start_script(
            WRITER, str(log.directory), str(acknowledged + 1), stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            for _ in range(chance.randrange(1, 20)):
                acknowledged = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read().split(b"\n")[:-1]
            acknowledged = int(rest[-1]) if rest else acknowledged
        there = {one.input[0] for one in log.read("s1")}
        assert set(range(acknowledged + 1)) <= there
    log.append(entry(input=[-1]))
    assert log.read("s1")[-1].input == [-1]


def test_a_log_that_is_moved_away_while_a_writer_waits_is_begun_anew(
    log: SkillLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(entry(input=1))
    path, waits, flock = log.path_of("s1"), threading.Event(), fcntl.flock

    def seen_flock(descriptor: int, how: int) -> None:
        waits.set()
        flock(descriptor, how)

    with path.open("rb") as held, ThreadPoolExecutor(1) as pool:
        flock(held, fcntl.LOCK_EX)
        monkeypatch.setattr(fcntl, "flock", seen_flock)
        waiting = pool.submit(log.append, entry(input=2))
        assert waits.wait(60)
        path.rename(path.with_name("moved.away"))
        flock(held, fcntl.LOCK_UN)
        waiting.result(60)
    assert numbers(log) == [2]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.integers(0, 1000)
        | st.text(max_size=40)
        | st.binary(min_size=1, max_size=40).map(lambda torn: torn.replace(b"\n", b" ")),
        max_size=12,
    )
)
def test_whatever_was_torn_between_them_every_entry_is_read(
    steps: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = SkillLog(tmp_path_factory.mktemp("torn"))
    log.append(entry(input="first"))
    for step in steps:
        if isinstance(step, bytes):
            with log.path_of("s1").open("ab") as file:
                file.write(step)
        else:
            log.append(entry(input=step))
    expected = ["first", *(step for step in steps if not isinstance(step, bytes))]
    assert numbers(log) == expected


# ---------------------------------------------------------------- what lies in the way


def test_a_link_is_neither_written_nor_read_through(log: SkillLog, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("mine\n")
    log.directory.mkdir()
    log.path_of("s1").symlink_to(outside)
    with pytest.raises(UnsafePath, match="is a link"):
        log.append(entry())
    with pytest.raises(UnsafePath, match="is a link"):
        log.read("s1")
    assert outside.read_text() == "mine\n"


def test_a_pipe_in_the_place_of_a_log_blocks_nobody(log: SkillLog) -> None:
    log.directory.mkdir()
    os.mkfifo(log.path_of("s1"))
    with pytest.raises(UnsafePath, match="is not a file"):
        log.append(entry())
    with pytest.raises(UnsafePath, match="is not a file"):
        log.read("s1")


def test_a_directory_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("")
    with pytest.raises(StoreError, match="cannot write") as refused:
        SkillLog(tmp_path / "logs").append(entry())
    assert refused.value.hint
    assert isinstance(refused.value.__cause__, OSError)
    assert refused.value.__cause__.errno in (errno.EEXIST, errno.ENOTDIR)


def test_a_value_that_is_no_json_is_refused_before_anything_is_written(log: SkillLog) -> None:
    for bad in (float("nan"), float("inf"), object(), {1: 2}):
        with pytest.raises(InvalidRecord):
            log.append({"session_id": "s1", "timestamp": TIME, "input": bad})
    assert not log.directory.exists()


@pytest.mark.parametrize(
    "line",
    [b"[]", b"null", b"7", b"{}", b'{"session_id":"s1"}', b"[" * 100_000, b'{"n":NaN}', b"\xff"],
)
def test_a_line_that_is_no_entry_costs_itself_alone(log: SkillLog, line: bytes) -> None:
    log.append(entry(input=1))
    with log.path_of("s1").open("ab") as file:
        file.write(line + b"\n")
    log.append(entry(input=2))
    found = log.read("s1")
    assert [one.input for one in found] == [1, 2]
    (problem,) = found.problems
    assert problem.length == len(line) + 1 and problem.reason


# ---------------------------------------------------------------- attempts


def tried(output: str, verified: bool = False) -> Attempt:
    return Attempt(output_summary=output, verified=verified)


def test_another_try_is_worth_it_until_verified_repeated_or_the_third() -> None:
    assert may_try_again([])
    assert may_try_again([tried("a")])
    assert may_try_again([tried("a"), tried("b")])
    assert not may_try_again([tried("a"), tried("b"), tried("c")])
    assert not may_try_again([tried("a", verified=True)])
    assert not may_try_again([tried("a"), tried("a")])
    assert not may_try_again([], most=0)
