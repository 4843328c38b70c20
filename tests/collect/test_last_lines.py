"""A last line without a newline, and several records on one line.

A third of the published logs end without a newline. What a sync reads of such a log must be what a
sync of the grown log reads, wherever the file ended in between.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from on_a_server import cases

from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import (
    check_restores,
    check_same,
    check_sound,
    collect,
    contents,
    events_of,
    new_store,
    rebuilt,
    usage_of,
)
from session_memory.views.sources import account

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

Collected = Callable[[bytes], Store]
BETWEEN = (b"", b" ", b"\r", b"rubbish", b"\0\0", b"\n", b" \n\n")


@pytest.fixture
def log(claude: ClaudeHome) -> Path:
    log = claude.session("main")
    log.prompt("look around")
    log.answer("I look.", call("Bash", command="ls"), used=usage(10))
    log.result("a.py }{ b.py")
    log.answer("Found two files.", used=usage(20))
    return claude.write() / log.place


@pytest.fixture
def collected(log: Path) -> Iterator[Callable[[bytes], Store]]:
    """Call it for a store after a sync of the log with these bytes."""
    with ExitStack() as stores:

        def synced(data: bytes) -> Store:
            log.write_bytes(data)
            stores.close()
            store = stores.enter_context(new_store())
            collect(store, log.parents[2])
            return store

        yield synced


def texts(store: Store) -> list[str]:
    (uid,) = store.sessions.uids()
    return [event.summary for event in events_of(store, uid)]


def test_a_whole_last_line_is_read_without_its_newline(log: Path, collected: Collected) -> None:
    store = collected(log.read_bytes().rstrip())
    assert "Found two files." in texts(store)[-1]
    assert account(store).totals.lines == 5
    check_sound(store)
    before = contents(store)
    check_same(contents(rebuilt(store)), before)
    check_restores(store, log.parents[2], log.parents[3] / "again")


def test_wherever_the_file_ended_the_grown_file_gives_the_same(
    log: Path, collected: Collected, stride: int
) -> None:
    data = log.read_bytes()
    expected = contents(collected(data))
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")][-2:]
    cuts = {end + step for end in ends for step in range(-4, 3)} | set(range(1, len(data), 197))
    for cut in sorted(cuts)[::stride]:
        store = collected(data[:cut])
        check_sound(store)
        log.write_bytes(data)
        collect(store, log.parents[2])
        check_same(contents(store), expected)


@pytest.mark.parametrize("between", cases(BETWEEN, (b"", b"rubbish")))
def test_what_follows_on_the_same_line_does_not_change_what_was_read(
    log: Path, collected: Collected, between: bytes
) -> None:
    lines = log.read_bytes().splitlines()
    first, rest = b"\n".join(lines[:3]), b"\n".join(lines[3:]) + b"\n"
    data = first + between + rest
    whole = collected(data)
    check_sound(whole)
    expected = contents(whole)
    check_same(contents(rebuilt(whole)), expected)
    reasons = [problem.reason for problem in whole.problems.every()]
    for cut in {len(first), len(first) + len(between), len(first) + len(between) + 1}:
        store = collected(data[:cut])
        log.write_bytes(data)
        collect(store, log.parents[2])
        check_same(contents(store), expected)
    if b"\n" in between:
        assert reasons == []
    else:
        reason = {b"rubbish": "malformed line"}.get(between, "several records on one line")
        assert reasons == [reason]


@pytest.mark.parametrize("between", [b"", b" \t ", b"\r"])
def test_several_records_of_a_last_line_are_noted_however_much_of_it_was_there(
    log: Path, collected: Collected, between: bytes
) -> None:
    first, *others = log.read_bytes().splitlines()
    whole = first + b"\n" + between.join(others) + b"\n"
    expected = contents(collected(whole))
    for end in (len(whole) - 1, len(whole) - 9, len(first) + 1 + len(others[0]) + len(others[1])):
        store = collected(whole[:end])
        log.write_bytes(whole)
        collect(store, log.parents[2])
        check_same(expected, contents(store))


def test_a_last_line_that_is_replaced_counts_once(log: Path, collected: Collected) -> None:
    data = log.read_bytes()
    store = collected(data.rstrip())
    log.write_bytes(data.replace(b"Found two files.", b"Found two files, and one more."))
    collect(store, log.parents[2])
    check_sound(store)
    (uid,) = store.sessions.uids()
    assert sum(used.cost.output_tokens for used in usage_of(store, uid)) == 30


def test_a_torn_last_line_is_in_the_account(log: Path, collected: Collected) -> None:
    data = log.read_bytes()
    store = collected(data[:-10])
    totals = account(store).totals
    assert (totals.lines, totals.unfinished, totals.unaccounted) == (4, 1, 0)
    log.write_bytes(data)
    collect(store, log.parents[2])
    totals = account(store).totals
    assert (totals.lines, totals.unfinished, totals.unaccounted) == (5, 0, 0)


def test_a_changed_ctime_alone_reads_nothing(log: Path, collected: Collected) -> None:
    store = collected(log.read_bytes())
    before = log.stat()
    log.chmod(0o640)
    log.chmod(before.st_mode & 0o777)
    assert log.stat().st_ctime_ns != before.st_ctime_ns
    report = collect(store, log.parents[2]).report
    assert (report.ingested, report.unchanged, report.bytes) == (0, 1, 0)
