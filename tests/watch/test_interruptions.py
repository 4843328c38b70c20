"""A watch is killed, stopped, doubled, or loses its store: nothing is missed, nothing doubled."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hostile.logs import append, corpus, fork, log, put, rounds, subagent, user, uuid

from session_memory.collect.directory_changes import DirectoryChanges
from session_memory.collect.discover import roots
from session_memory.collect.stop_flag import StopFlag
from session_memory.collect.watch import Watch as Following
from session_memory.collect.watch_events import Started, Synced, WatchError, WatchEvent
from session_memory.config import Config
from session_memory.core.errors import NewerSchema, StoreError
from session_memory.store.database import Database
from session_memory.store.store import Store, open_store

from .conftest import Memory
from .watching import FORKS, HOST, LONGEST_S, Watching, new_process, resident_kb, until

Watch = Callable[..., Watching]
S, T = uuid("session"), uuid("other session")
U = f"claude:{S}"


def agents_at_work(root: Path) -> Iterator[None]:
    """What agents do, step by step: append, begin sessions, fork them, start subagents."""
    for number in range(60):
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
        yield


@pytest.mark.kill
@pytest.mark.slow
def test_killed_and_started_again_a_watch_misses_nothing_and_doubles_nothing(
    memory: Memory, watch: Watch, database: str
) -> None:
    """It is killed while agents write, once as soon as it says something and once just begun."""
    work = agents_at_work(memory.root)
    for _ in range({"sqlite": 4, "postgresql": 2}[database]):
        following = watch(caught_up=False)
        following.until(lambda said: said["event"] == "started")
        for _ in range(5):
            next(work)
        following.kill()
        following = watch()
        since = len(following.said)
        for _ in range(5):
            next(work)
        following.until(lambda said: said["event"] == "session", since)
        following.kill()
    watch()
    memory.assert_as_if_synced_once()


@pytest.mark.slow
def test_two_watches_and_a_sync_beside_them_agree(
    memory: Memory, watch: Watch, database: str
) -> None:
    put(corpus(memory.root, 6, 500))
    both = [watch(), watch()]
    place = ("--root", memory.root, "--store", memory.place)
    config = memory.root.with_name("config.toml")
    steps = islice(agents_at_work(memory.root), {"sqlite": 60, "postgresql": 36}[database])
    for number, _ in enumerate(steps):
        if number % 20 == 10:
            words = ["sync", *place, "--config", config, "--json"]
            syncing = FORKS.start("session_memory.cli:main", words)
            output = syncing.communicate()
            assert syncing.returncode == 0, output
    memory.assert_as_if_synced_once()
    for following in both:
        said = following.stop()
        assert following.process.returncode == 0, following.complaints
        assert not [one for one in said if one["event"] == "error"]
    sources = sum(one["sources"] for following in both for one in following.said if "whole" in one)
    assert sources > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.only("sqlite")
def test_a_signal_ends_it_well_with_a_summary(memory: Memory, watch: Watch, number: int) -> None:
    path = log(memory.root, S, rounds(S, 1))
    following = watch()
    append(path, [user(S, 4)])
    following.has_events(U, 5)
    said = following.stop(number)
    assert following.process.returncode == 0
    assert said[0]["event"] == "started"
    assert said[-1]["event"] == "stopped"
    assert (said[-1]["events"], said[-1]["sessions"]) == (5, 1)
    assert following.complaints == ""


@pytest.mark.only("sqlite")
def test_signals_that_a_shell_had_ignored_stay_ignored(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 1))
    numbers = (signal.SIGINT, signal.SIGHUP)
    # A child inherits what is ignored.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        following = watch(fresh=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in numbers:
        following.process.send_signal(number)
    append(path, [user(S, 4)])
    following.has_events(U, 5)
    assert following.stop(signal.SIGTERM)[-1]["event"] == "stopped"


@pytest.mark.only("sqlite")
def test_a_signal_ends_the_first_sync_too_and_the_next_watch_goes_on(
    memory: Memory, watch: Watch
) -> None:
    put(corpus(memory.root, 20, 10_000))
    following = watch(caught_up=False)
    following.until(lambda said: said["event"] == "started")
    said = following.stop()
    assert following.process.returncode == 0
    assert said[-1]["event"] == "stopped"
    watch()
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_it_ends_when_nobody_reads_it_any_more(memory: Memory) -> None:
    """Although it has nothing to say, and so no chance to fail at saying it."""
    other = new_process("watch", "--root", str(memory.root), "--store", memory.place, "--json")
    assert other.stdout is not None and other.stderr is not None
    try:
        events = [json.loads(other.stdout.readline())["event"] for _ in range(2)]
        assert events == ["started", "synced"]
        other.stdout.close()
        assert other.wait(timeout=LONGEST_S) == 0
        assert other.stderr.read() == b""
    finally:
        other.kill()
        other.wait()
        other.stderr.close()


@pytest.mark.slow
@pytest.mark.only("sqlite")
def test_memory_stays_flat_over_ten_thousand_lines(memory: Memory, watch: Watch) -> None:
    sessions = [uuid("flat", number) for number in range(100)]
    paths = {session: log(memory.root, session, [user(session, 0)]) for session in sessions}
    following = watch()
    early = 0
    for n in range(0, 100, 4):
        for session, path in paths.items():
            lines = (user(session, n + k, "a line of some length " * 10) for k in range(1, 5))
            append(path, list(lines))
        following.has_events(f"claude:{sessions[-1]}", n + 5)
        if n == 20:
            early = resident_kb(following.process.pid)
    late = resident_kb(following.process.pid)
    # SQLite may still fill its cache of 24 MB; a leak of a line's rows would be far more.
    assert late - early < 16 * 1024


# ---------------------------------------------------------------- a store that is lost


class InProcess:
    """A watch in this process, turn by turn, whose store can be taken away."""

    def __init__(self, memory: Memory) -> None:
        self.stop = StopFlag()
        self.opened: list[Store] = []
        self.fails_with: StoreError | None = None
        where = roots(Config(), (memory.root,))
        watch = Following(lambda: self._open(memory.place), Config(), where, self.stop, host=HOST)
        self._happenings = watch.run()

    def _open(self, place: str) -> Store:
        if self.fails_with is not None:
            raise self.fails_with
        self.opened.append(open_store(place))
        return self.opened[-1]

    def until(self, kind: type[WatchEvent]) -> WatchEvent:
        """Idle moments are events as well, so the time we wait has an end."""
        latest = time.monotonic() + LONGEST_S
        for one in self._happenings:
            assert time.monotonic() < latest, f"there is no {kind.__name__}"
            if isinstance(one, kind):
                return one
        raise AssertionError("it has ended")

    def end(self) -> None:
        self.stop.set()
        for _ in self._happenings:
            pass
        self.stop.close()


@pytest.fixture
def in_process(memory: Memory) -> Iterator[InProcess]:
    following = InProcess(memory)
    yield following
    following.end()


@pytest.mark.only("sqlite")
def test_a_store_that_is_lost_is_opened_again_and_nothing_is_missed(
    memory: Memory, in_process: InProcess
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    in_process.until(Synced)
    in_process.opened[-1].close()
    in_process.fails_with = StoreError("the server is down", "Start it.")
    append(path, [user(S, 4)])
    first, second = in_process.until(WatchError), in_process.until(WatchError)
    assert isinstance(first, WatchError) and isinstance(second, WatchError)
    assert (first.retry_in, second.retry_in) == (1.0, 2.0)
    assert (second.kind, second.message, second.hint) == (
        "store_error",
        "the server is down",
        "Start it.",
    )
    in_process.fails_with = None
    in_process.until(Synced)
    assert len(memory.summaries(U)) == 5
    memory.assert_as_if_synced_once()


@pytest.mark.only("postgresql")
def test_a_connection_that_the_server_ends_is_made_anew(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 1))
    memory.place += "&application_name=followed"
    following = watch()
    with open_store(memory.place.replace("followed", "killer")) as store:
        _end_connections(store.db)
    append(path, [user(S, 4)])
    following.has_events(U, 5)
    memory.assert_as_if_synced_once()


def _end_connections(db: Database) -> None:
    ended = db.all(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'followed' and query like :ours",
        {"ours": "%"},
    )
    assert ended


@pytest.mark.only("sqlite")
def test_a_store_that_cannot_be_used_at_all_ends_it(memory: Memory, in_process: InProcess) -> None:
    in_process.until(Started)
    in_process.opened[-1].close()
    in_process.fails_with = NewerSchema(memory.place, found=99, known=1)
    with pytest.raises(NewerSchema):
        for _ in range(3):
            in_process.until(WatchError)


@pytest.mark.only("sqlite")
def test_a_store_that_cannot_be_opened_is_an_error_at_once(memory: Memory) -> None:
    following = InProcess(memory)
    following.fails_with = StoreError("the server is down")
    with pytest.raises(StoreError):
        following.until(Started)
    following.end()


# ---------------------------------------------------------------- a file system without events


@pytest.mark.only("sqlite")
def test_without_events_it_looks_again_and_again_and_says_why(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(*arguments: object, **more: object) -> Iterator[set[tuple[int, str]]]:
        raise OSError(28, "No space left on device (os error 28)")
        yield set()

    path = log(memory.root, S, rounds(S, 1))
    monkeypatch.setattr("watchfiles.watch", no_more)
    in_process = InProcess(memory)
    event = in_process.until(WatchError)
    assert isinstance(event, WatchError)
    assert (event.kind, event.retry_in) == ("no_events", None)
    assert "sysctl" in (event.hint or "")
    in_process.until(Synced)
    append(path, [user(S, 4)])
    in_process.until(Synced)
    assert len(memory.summaries(U)) == 5
    in_process.end()


@pytest.mark.only("sqlite")
def test_when_too_many_events_come_at_once_everything_is_in_doubt(tmp_path: Path) -> None:
    def flood(*arguments: object, **more: object) -> Iterator[set[tuple[int, str]]]:
        yield {(1, f"{tmp_path}/{number}") for number in range(5000)}

    stop = StopFlag()
    with DirectoryChanges([tmp_path], stop, watching=flood) as changes:
        assert changes.wait().is_incomplete
    with DirectoryChanges([tmp_path], stop, watching=flood) as changes:
        changes._follow_existing()
        assert len(changes.wait().paths) == 5000
    stop.close()


@pytest.mark.only("sqlite")
def test_when_nothing_happened_for_a_while_changes_and_the_end_are_still_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.directory_changes.QUIET_AFTER_S", -1.0)
    stop = StopFlag()
    with DirectoryChanges([tmp_path], stop) as changes:
        # The directories are watched from the end of the first tick on, at the latest.
        changes.wait()
        (tmp_path / "new.jsonl").write_text("{}")
        found: set[Path] = set()
        for _ in range(100):
            found |= changes.wait().paths
            if found:
                break
        assert tmp_path / "new.jsonl" in found
        stop.set()
        assert not changes.wait().paths
    stop.close()


@pytest.mark.only("sqlite")
def test_a_line_appended_to_a_known_log_looks_at_no_other(
    memory: Memory, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    log(memory.root, T, rounds(T, 1))
    in_process.until(Synced)

    def refused(*arguments: object) -> None:
        raise AssertionError("it looks at everything")

    monkeypatch.setattr("session_memory.collect.looking.discover", refused)
    monkeypatch.setattr("session_memory.store.sources.Sources.known", refused)
    monkeypatch.setattr("session_memory.store.events.Events.count", refused)
    append(path, [user(S, 4)])
    event = in_process.until(Synced)
    assert isinstance(event, Synced)
    assert (event.sources, event.events, event.whole) == (1, 1, False)
    monkeypatch.undo()


def test_the_newest_generation_of_a_path_is_found_among_many(memory: Memory) -> None:
    path = log(memory.root, S, [user(S, 0)])
    with memory.opened() as store:
        for number in range(1, 12):
            memory._sync(store)
            path.write_bytes(b"")
            memory._sync(store)
            append(path, [user(S, number)])
        memory._sync(store)
        known = store.sources.known(HOST)
        assert known[str(path)].generation > 9
        assert store.sources.known_at(HOST, [str(path), "/nowhere"]) == known
        until(lambda: not store.sessions.stale(), "settled")
