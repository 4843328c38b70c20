"""Several processes at one store: writers beside writers, readers beside them, and nobody waits
for long."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from effort import times
from warm_forks import Fork

from session_memory.collect import sync as syncing
from session_memory.collect.discover import roots
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .conftest import (
    HOST,
    Memory,
    assert_sound,
    collect,
    fresh_fingerprint,
    start_child,
)
from .logs import append, corpus, fork, log, put, rounds, subagent, uuid

Children = list[Fork]
WRITERS = 3


def start(children: Children, task: str, *arguments: object) -> Fork:
    children.append(start_child(task, *arguments))
    return children[-1]


def answer(process: Fork) -> dict[str, object]:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, (out + errors).decode()
    return json.loads(out)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- many processes


@pytest.mark.slow
def test_many_processes_fill_one_store_at_once(
    memory: Memory, children: Children, stores: Stores
) -> None:
    put(corpus(memory.root, 16, 4000))
    expected = fresh_fingerprint(memory.root)
    for attempt in range(times(1)):
        place = stores.place(f"attempt-{attempt}")
        for process in [start(children, "sync", memory.root, place) for _ in range(WRITERS)]:
            answer(process)
        with open_store(place) as store:
            collect(store, memory.root)
            assert store.fingerprint() == expected
            assert_sound(store, sample=5)


@pytest.mark.slow
def test_many_processes_follow_logs_that_grow(
    memory: Memory, children: Children, database: str
) -> None:
    """A third party appends lines and adds files all the while; a reader sees no contradiction."""
    put(corpus(memory.root, 10, 1000))
    memory.sync()
    stop = memory.path.with_name("stop")
    following = [
        start(children, "sync_again_and_again", memory.root, memory.where, stop)
        for _ in range(WRITERS)
    ]
    reading = start(children, "read_again_and_again", memory.root, memory.where, stop)
    _wait_for([*following, reading], stop)
    _write_logs(times({"sqlite": 90, "postgresql": 36}[database]), memory.root)
    stop.touch()
    for process in following:
        answer(process)
    assert answer(reading)["wrong"] == []
    memory.sync()
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


def _wait_for(processes: Children, stop: Path) -> None:
    """Until all of them are at work."""
    ready = [stop.with_name(f"{stop.name}-{process.pid}") for process in processes]
    until = time.monotonic() + 60
    while not all(file.exists() for file in ready):
        assert time.monotonic() < until, "they do not begin"
        assert all(process.poll() is None for process in processes), "one of them has ended"
        time.sleep(0.01)


def _write_logs(steps: int, root: Path) -> None:
    """What agents do: append, begin sessions, fork them, start subagents."""
    for number in range(steps):
        session = uuid("live", number // 6)
        match number % 6:
            case 0:
                path = log(root, session, rounds(session, 2))
            case 4:
                branch = uuid("branch", number)
                log(root, branch, fork(rounds(session, 2), branch) + rounds(branch, 1, start=90))
            case 5:
                subagent(root, session, f"a{number}", rounds(f"{session}{number}", 1))
            case step:
                append(path, rounds(session, 1, start=20 * step))
        time.sleep(0.005)


@pytest.mark.slow
def test_a_reader_sees_whole_sessions_while_a_store_is_filled(
    memory: Memory, children: Children
) -> None:
    put(corpus(memory.root, 16, 4000))
    stop = memory.path.with_name("stop")
    with memory.opened():
        pass
    reading = start(children, "read_again_and_again", memory.root, memory.where, stop)
    for _ in range(2):
        answer(start(children, "sync_in_small_steps", memory.root, memory.where))
    stop.touch()
    assert answer(reading)["wrong"] == []


@pytest.mark.slow
def test_a_live_writer_beside_a_sync_never_waits_long(
    memory: Memory, children: Children, record_property: Callable[[str, object], None]
) -> None:
    """The longest wait for the write lock while a megabyte is added to a store in use."""
    files = corpus(memory.root, 20, 10_000)
    put(files[: len(files) // 8])
    memory.sync()
    put(files)
    stop = memory.path.with_name("stop")
    waiting = start(children, "wait_for_the_lock", memory.where, stop)
    started = time.monotonic()
    answer(start(children, "sync", memory.root, memory.where))
    duration = time.monotonic() - started
    stop.touch()
    figures = answer(waiting)
    record_property("longest_wait_ms", round(float(str(figures["longest"])) * 1000, 1))
    print(f"longest wait: {float(str(figures['longest'])) * 1000:.1f} ms")
    assert int(str(figures["count"])) > 10
    # On a busy machine everything takes longer, the whole sync as well as one transaction of it.
    assert float(str(figures["longest"])) < max(2.0, duration / 3)
    with memory.opened() as store:
        assert_sound(store, sample=5)


# ---------------------------------------------------------------- chosen moments, in one process


def looking(store: object, root: Path) -> syncing.Sync:
    """A sync that has looked at the files and has not read them yet."""
    run = syncing.Sync(store, Config(), HOST, ReadProgress())  # type: ignore[arg-type]
    run.look_below(roots(Config(), (root,)))
    return run


@pytest.fixture
def two(memory: Memory) -> Iterator[tuple[Memory, object, object]]:
    """One store through two connections."""
    with memory.opened() as one, memory.opened() as other:
        yield memory, one, other


S, T = uuid("session"), uuid("other session")
Two = tuple[Memory, object, object]


def assert_as_fresh(memory: Memory) -> None:
    memory.sync()
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


def test_both_have_looked_at_the_same_new_files(two: Two) -> None:
    memory, one, other = two
    log(memory.root, S, rounds(S, 2))
    first, second = looking(one, memory.root), looking(other, memory.root)
    first.read()
    second.read()
    assert memory.tokens() == 40
    assert_as_fresh(memory)


def test_both_have_looked_at_the_same_growth(two: Two) -> None:
    memory, one, other = two
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    append(path, rounds(S, 1, start=8))
    first, second = looking(one, memory.root), looking(other, memory.root)
    first.read()
    append(path, rounds(S, 1, start=12))
    second.read()
    assert_as_fresh(memory)


def assert_lines_counted_once(memory: Memory, path: Path) -> None:
    """Every line of a log was taken in by one sync alone."""
    with memory.opened() as store:
        (row,) = store.sources.every()
        account = store.sources.account()[row.id]
    lines = path.read_bytes().count(b"\n")
    assert (row.lines, row.read_to) == (lines, path.stat().st_size)
    assert (account.copies, account.problems, account.unaccounted) == (0, 0, 0)


def test_only_one_of_two_syncs_takes_the_same_growth(two: Two) -> None:
    """The second one finds the cursor moved: it writes nothing and counts nothing."""
    memory, one, other = two
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    append(path, rounds(S, 1, start=8))
    first, second = looking(one, memory.root), looking(other, memory.root)
    first.read()
    second.read()
    report = second.outcome.report
    assert (report.events, report.bytes, second.outcome.touched) == (0, 0, {})
    assert first.outcome.report.events > 0
    assert_lines_counted_once(memory, path)
    assert_as_fresh(memory)


def test_a_sync_that_read_less_does_not_move_the_cursor_back(two: Two) -> None:
    """It read the log before the other one did, and writes after it."""
    memory, one, other = two
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    append(path, rounds(S, 1, start=8))
    slow = looking(one, memory.root)
    chunks = [chunk for task in slow.context.tasks for chunk in slow.reading.chunks(task)]
    append(path, rounds(S, 1, start=12))
    looking(other, memory.root).read()
    with one.transaction():  # type: ignore[attr-defined]
        slow.writing.write(chunks)
    assert slow.outcome.touched == {}
    assert_lines_counted_once(memory, path)
    assert_as_fresh(memory)


def test_a_fork_of_what_another_first_load_wrote_counts_once(two: Two) -> None:
    """Whoever thinks the store is empty must notice that it no longer is."""
    memory, one, other = two
    log(memory.root, S, rounds(S, 2))
    early = looking(one, memory.root)
    log(memory.root, T, fork(rounds(S, 2), T) + rounds(T, 1, start=20))
    late = looking(other, memory.root)
    early.read()
    late.read()
    assert memory.tokens() == 60
    assert_as_fresh(memory)


def test_one_has_seen_a_file_vanish_that_the_other_has_read_on(two: Two) -> None:
    memory, one, other = two
    path = log(memory.root, S, rounds(S, 2))
    log(memory.root, T, rounds(T, 1))
    memory.sync()
    away = path.rename(path.with_suffix(".away"))
    first = looking(one, memory.root)
    away.rename(path)
    append(path, rounds(S, 2, start=8))
    looking(other, memory.root).read()
    first.read()
    assert_as_fresh(memory)


def test_one_has_seen_a_file_rewritten_that_the_other_has_read_on(two: Two) -> None:
    memory, one, other = two
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    first = looking(one, memory.root)
    append(path, rounds(S, 2, start=8))
    first = looking(one, memory.root)
    looking(other, memory.root).read()
    path.write_bytes(b"")
    append(path, rounds(S, 1, start=40))
    first.read()
    memory.sync()
    assert memory.tokens() == 20 * 5
    memory.assert_sound()


def test_both_have_seen_the_same_rewritten_file(two: Two) -> None:
    memory, one, other = two
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    path.write_bytes(b"")
    append(path, rounds(S, 1, start=40))
    first, second = looking(one, memory.root), looking(other, memory.root)
    first.read()
    second.read()
    memory.sync()
    with memory.opened() as store:
        assert [row.superseded for row in store.sources.every()] == [1, 0]
    assert memory.tokens() == 60
    memory.assert_sound()


def test_one_derives_while_the_other_adds_to_the_same_sessions(two: Two) -> None:
    memory, one, other = two
    log(memory.root, T, fork(rounds(S, 2), T) + rounds(T, 1, start=20))
    memory.sync()
    path = log(memory.root, S, rounds(S, 2))
    first = looking(one, memory.root)
    append(path, rounds(S, 2, start=8))
    second = looking(other, memory.root)
    first.read()
    append(path, rounds(S, 2, start=16))
    second.read()
    assert_as_fresh(memory)


def test_threads_of_one_process_may_each_have_a_store(memory: Memory) -> None:
    put(corpus(memory.root, 12, 600))
    failures: list[BaseException] = []

    def follow() -> None:
        try:
            for _ in range(3):
                memory.sync()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=follow) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert_as_fresh(memory)


def test_a_forked_child_opens_the_store_anew(memory: Memory) -> None:
    log(memory.root, S, rounds(S, 2))
    with memory.opened() as store:
        collect(store, memory.root)
        append(next(memory.root.rglob("*.jsonl")), rounds(S, 1, start=8))
        child = os.fork()
        if not child:
            status = 1
            try:
                collect(store, memory.root)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        collect(store, memory.root)
        assert store.usage.sums(1)[0] == 60
    assert_as_fresh(memory)
