"""A sync killed at any moment, and the one after it: the store of an undisturbed run.

The moments are random but seeded, and spread over how long a sync takes on this machine.
"""

import json
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from effort import times

from session_memory.collect import batches
from session_memory.collect import sync as syncing
from session_memory.collect.batch_writing import BatchWriting
from session_memory.collect.reading import SourceReading
from session_memory.derive import derivation as derive
from session_memory.derive import stale_sessions
from session_memory.retain.verification import verify
from session_memory.store.copying import copy_everything
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .conftest import Memory, collect, fresh_fingerprint, run_child, start_child
from .logs import PROJECT, append, corpus, encoded, fork, log, put, rounds, uuid

KILLS = {"sqlite": times(16), "postgresql": times(8)}
# Half a megabyte. The children use transactions that are smaller in the same proportion.
SESSIONS, OUTPUT = 10, 5_000
DATA = Path(__file__).parent.parent / "data"
on_sqlite = pytest.mark.only("sqlite")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def whole(place: Path) -> tuple[Memory, str]:
    """All logs, and what an undisturbed sync makes of them."""
    root = place / "logs"
    put(corpus(root, SESSIONS, OUTPUT))
    assert sum(path.stat().st_size for path in root.rglob("*.jsonl")) > 500_000
    return Memory(root, place / "whole.db"), fresh_fingerprint(root)


@pytest.fixture(scope="module")
def grown(place: Path) -> tuple[Path, Path, str]:
    """Logs that are all there, a store from when half of half of them was, and the undisturbed."""
    root = place / "growing"
    files = corpus(root, SESSIONS, OUTPUT)
    put([(path, _first_half(path, content)) for path, content in files[: len(files) // 2]])
    half = Memory(root, place / "half.db")
    half.sync()
    put(files)
    return root, half.path, fresh_fingerprint(root)


def _first_half(path: Path, content: bytes) -> bytes:
    return content[: len(content) // 2] if path.suffix == ".jsonl" else content


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        "sync_in_steps",
        "sync_in_small_steps",
        pytest.param("sync_with_workers", marks=on_sqlite),
    ],
)
def test_killed_while_it_fills_an_empty_store(
    whole: tuple[Memory, str], stores: Stores, database: str, task: str
) -> None:
    memory, expected = whole
    trials = Trials(task, memory.root, None, expected, stores)
    # Each trial with workers starts three processes.
    trials.run(KILLS[database] // (8 if task == "sync_with_workers" else 4))


@pytest.mark.kill
@pytest.mark.slow
def test_killed_while_it_adds_to_a_store(
    grown: tuple[Path, Path, str], stores: Stores, database: str
) -> None:
    """Half of the time goes into deriving sessions anew, so half of the kills do too."""
    root, half, expected = grown
    Trials("sync_in_steps", root, half, expected, stores).run(KILLS[database] // 2)


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize("agent", ["codex", "grok"])
def test_killed_while_it_reads_recorded_sessions(
    agent: str, tmp_path: Path, stores: Stores, database: str
) -> None:
    """Forks by reference, timelines, turns that count their subagents in: in tiny transactions."""
    root = tmp_path / "home"
    for scenario in sorted(DATA.glob(f"{agent}*/*/home")):
        shutil.copytree(scenario, root, dirs_exist_ok=True)
    expected = fresh_fingerprint(root)
    trials = Trials("sync_in_tiny_steps", root, None, expected, stores)
    trials.run(KILLS[database] // 4)


@dataclass
class Trials:
    """Kill a sync of ``root`` that begins with the store ``base``, or with none, and go on."""

    task: str
    root: Path
    base: Path | None
    expected: str
    stores: Stores

    def run(self, kills: int) -> None:
        duration = self._duration()
        chance = random.Random(f"{self.task}{self.base is None}")
        moments = [duration * (n + chance.random()) / kills for n in range(kills)]
        places = [self._kill(moment) for moment in moments]
        done = run_child("sync_and_check", self.root, *places)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(done.stdout)
        assert result["findings"] == []
        assert result["prints"] == [self.expected] * len(places)

    def _duration(self) -> float:
        """How long an undisturbed run takes."""
        place = self._prepared("timed")
        started = time.perf_counter()
        assert run_child(self.task, self.root, place).returncode == 0
        return time.perf_counter() - started

    def _prepared(self, name: str) -> str:
        place = self.stores.place(name)
        if self.base is not None:
            with open_store(self.base) as base, open_store(place) as store:
                copy_everything(base, store)
        return place

    def _kill(self, moment: float) -> str:
        """The place of a store whose sync was still at work at ``moment`` and was killed then."""
        for attempt in count():
            place = self._prepared(f"{moment}-{attempt}")
            child = start_child(self.task, self.root, place)
            with suppress(subprocess.TimeoutExpired):
                child.wait(moment)
            child.kill()
            child.communicate()
            if child.returncode == -signal.SIGKILL:
                return place
            assert child.returncode == 0
            # The machine is faster than when the run was timed.
            moment *= 0.8
        raise AssertionError


# ---------------------------------------------------------------- chosen moments


class Killed(BaseException):
    """In place of a signal: nothing in the package may catch it."""


class Changing:
    """Logs of which some are added and one is deleted between two syncs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files = corpus(root, 8, 400)

    def begin(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        put(self._files[:6])

    def go_on(self) -> None:
        put(self._files)
        self._files[0][0].unlink()


@pytest.fixture(scope="module")
def changing(place: Path) -> tuple[Changing, str]:
    """These logs, and what two undisturbed syncs make of them."""
    logs = Changing(place / "changing")
    memory = Memory(logs.root, place / "changing.db")
    logs.begin()
    memory.sync()
    logs.go_on()
    memory.sync()
    return logs, memory.fingerprint()


@pytest.mark.parametrize("at", [1, 2, *(pytest.param(at, marks=on_sqlite) for at in (3, 4, 5, 6))])
def test_killed_between_any_two_writes_of_a_derivation(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Sessions that belong together, found in an order that has to be derived anew."""
    sessions = _tangled(memory.root)
    with memory.opened() as store:
        collect(store, memory.root)
    for session in sessions[:2]:
        append(
            memory.root / PROJECT / f"{session}.jsonl", fork(rounds(sessions[3], 2, 80), session)
        )
    _die_at_call(monkeypatch, derive.Derivation, "_write", at)
    with memory.opened() as store, suppress(Killed):
        collect(store, memory.root)
    monkeypatch.undo()
    memory.sync()
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (BatchWriting, "_write_chunk"),
        (BatchWriting, "write"),
        (BatchWriting, "_claim"),
        (BatchWriting, "write_vanished"),
        pytest.param(SourceReading, "_packer", marks=on_sqlite),
    ],
)
@pytest.mark.parametrize(
    "at", [pytest.param(1, marks=on_sqlite), 2, pytest.param(5, marks=on_sqlite)]
)
def test_killed_inside_any_step_of_a_sync(
    changing: tuple[Changing, str],
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    at: int,
) -> None:
    logs, expected = changing
    memory = Memory(logs.root, memory.path, memory.place)
    logs.begin()
    memory.sync()
    logs.go_on()
    _die_at_call(monkeypatch, owner, name, at)
    with memory.opened() as store, suppress(Killed):
        collect(store, memory.root)
    monkeypatch.undo()
    memory.sync()
    assert memory.fingerprint() == expected
    memory.assert_sound()


def test_an_interrupted_first_load_says_so_and_can_go_on(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C is what people press on a first load; nothing may come out but that."""
    monkeypatch.setattr(batches, "FIRST_LOAD_BYTES", 2000)
    put(corpus(memory.root, 8, 400))
    really = syncing.Sync._read_task
    read = []

    def interrupted(self: syncing.Sync, *arguments: object) -> None:
        really(self, *arguments)  # type: ignore[arg-type]
        read.append(1)
        if len(read) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(syncing.Sync, "_read_task", interrupted)
    with memory.opened() as store:
        with pytest.raises(KeyboardInterrupt):
            collect(store, memory.root)
        monkeypatch.setattr(syncing.Sync, "_read_task", really)
        # The same store, not opened again, must be as good as new.
        collect(store, memory.root)
        assert verify(store).findings == []
    assert memory.fingerprint() == fresh_fingerprint(memory.root)


def test_what_is_left_to_derive_is_derived_by_a_sync_that_finds_nothing_new(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tangled(memory.root)
    _die_at_call(monkeypatch, stale_sessions, "derive_stale", 1)
    with memory.opened() as store, pytest.raises(Killed):
        collect(store, memory.root)
    monkeypatch.undo()
    outcome = memory.sync()
    assert outcome.report.ingested == 0
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


@pytest.mark.only("sqlite")
def test_a_store_left_without_its_log_by_a_power_cut_catches_up(memory: Memory) -> None:
    """Without the write-ahead log a store is what it was at its last checkpoint, and whole."""
    put(corpus(memory.root, 6, 400))
    memory.sync()
    old = memory.path.read_bytes()
    for path in memory.root.rglob("*.jsonl"):
        with path.open("ab") as file:
            file.write(b"".join(map(encoded, rounds(path.stem, 1, start=500))))
    memory.sync()
    expected = memory.fingerprint()
    memory.path.write_bytes(old)
    assert memory.fingerprint() != expected
    memory.sync()
    assert memory.fingerprint() == expected
    memory.assert_sound()


def _tangled(root: Path) -> list[str]:
    """Forks that arrive before what they are forks of, and forks of a part of those."""
    sessions = sorted(uuid("tangled", n) for n in range(4))
    first = rounds(sessions[3], 4)
    second = fork(first[:8], sessions[0]) + rounds(sessions[0], 2, start=40)
    third = fork(second[4:], sessions[1]) + rounds(sessions[1], 1, start=60)
    for session, records in zip(sessions, (second, third, third[2:], first), strict=True):
        log(root, session, fork(records, session))
    return sessions


def _die_at_call(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, at: int) -> None:
    really = getattr(owner, name)
    calls = []

    def dying(*arguments: object) -> object:
        calls.append(1)
        if len(calls) == at:
            raise Killed
        return really(*arguments)

    monkeypatch.setattr(owner, name, dying)
