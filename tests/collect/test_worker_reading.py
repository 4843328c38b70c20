"""A sync with worker processes makes the store that a sync without them makes."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session_memory.adapters import registry
from session_memory.collect import parallel_reading
from session_memory.collect import sync as syncing
from session_memory.collect.batches import Chunk, ReadTask
from session_memory.collect.discover import roots
from session_memory.collect.parallel_reading import ParallelReading
from session_memory.collect.read_worker import SentChunk
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config, Exclusions
from session_memory.store.fingerprint import fingerprint
from session_memory.store.store import Store
from session_memory.testing.collecting import new_store

DATA = Path(__file__).parent.parent / "data"
Making = Callable[[ParallelReading, ReadTask, SentChunk], Chunk]
on_sqlite = pytest.mark.only("sqlite")
LINE = (
    '{{"type":"user","uuid":"{session}-{number}","sessionId":"{session}","cwd":"/x","timestamp":'
    '"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"{words}"}}}}\n'
)


@pytest.fixture(autouse=True)
def workers_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers however little there is to read, and give them everything."""
    monkeypatch.setattr(syncing, "BYTES_PER_WORKER", 0)
    monkeypatch.setattr(parallel_reading, "BYTES_PER_WORKER", 0)
    monkeypatch.setattr(parallel_reading, "SMALL_SOURCE", -1)


def collected(
    where: Path, jobs: int, store: Store | None = None, config: Config | None = None
) -> tuple[str, SyncOutcome]:
    store, config = store or new_store(), config or Config()
    outcome = syncing.sync(store, config, roots(config, (where,)), host="here", jobs=jobs)
    outcome.report.seconds = 0
    return fingerprint(store), outcome


def write_log(root: Path, session: str, lines: int, begin: int = 0) -> None:
    place = root / "projects" / "-x" / f"{session}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a") as file:
        for number in range(begin, lines):
            words = f"{session} says {number} " * 40
            file.write(LINE.format(session=session, number=number, words=words))


def test_the_store_is_the_same_with_any_number_of_workers() -> None:
    # One agent alone: the logs of all together take ten times as long.
    expected = collected(DATA / "codex", 1)
    assert all(collected(DATA / "codex", jobs) == expected for jobs in (2, 4))


@on_sqlite
def test_the_store_is_the_same_after_logs_grew(tmp_path: Path) -> None:
    root, grown = tmp_path / ".claude", new_store()
    for session in ("one", "two"):
        write_log(root, session, 50)
    collected(root, 1, grown)
    write_log(root, "one", 1300, begin=50)
    write_log(root, "three", 5)
    (root / "projects/-x/two.jsonl").write_text("it was rewritten\n")
    again, outcome = collected(root, 2, grown)
    assert outcome.report.ingested == 3
    rewritten = new_store()
    collected_twice(tmp_path, rewritten)
    assert again == fingerprint(rewritten)


def collected_twice(place: Path, store: Store) -> None:
    """The same without workers: the store also holds what was rewritten."""
    root = place / ".claude"
    now = {path: path.read_bytes() for path in root.rglob("*.jsonl")}
    for path in now:
        path.unlink()
    for session in ("one", "two"):
        write_log(root, session, 50)
    collected(root, 1, store)
    for path, content in now.items():
        path.write_bytes(content)
    collected(root, 1, store)


@on_sqlite
@pytest.mark.parametrize("seed", range(2))
def test_killed_workers_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    root, store = tmp_path / ".claude", new_store()
    write_log(root, "one", 1)
    collected(root, 1, store)
    # Not a first load: the logs come in many chunks.
    write_log(root, "two", 1000)
    write_log(root, "three", 500)
    chance = random.Random(seed)
    monkeypatch.setattr(ParallelReading, "_chunk", killing(chance, ParallelReading._chunk))
    assert collected(root, 2, store)[0] == collected(root, 1)[0]


def killing(chance: random.Random, make: Making) -> Making:
    """Kills a process of the pool, three times, whatever it does at the moment."""
    left = [3]

    def chunk(self: ParallelReading, task: ReadTask, sent: SentChunk) -> Chunk:
        if left[0] and chance.random() < 0.7 and self._pool is not None:
            left[0] -= 1
            process = chance.choice(self._pool._workers)._process
            if process is not None:
                process.kill()
        return make(self, task, sent)

    return chunk


@on_sqlite
def test_what_is_excluded_or_unreadable_is_the_same(tmp_path: Path) -> None:
    root = tmp_path / ".claude"
    write_log(root, "one", 3)
    place = root / "projects" / "-x"
    (place / "two.jsonl").write_bytes(b"\xff no JSON\n" + b'{"torn')
    (place / "three.jsonl").symlink_to(tmp_path / "nowhere")
    for config in (Config(), Config(exclude=Exclusions(repos=["x"]), redact=True)):
        assert collected(root, 2, config=config) == collected(root, 1, config=config)


PLUGIN = """
import os, msgspec, toy

def read(source, cursor):
    if source.ref.session == "deadly":
        os.abort()
    yield from toy.read(source, cursor)

AGENT = msgspec.structs.replace(toy.AGENT, read=read)
"""


@pytest.fixture
def deadly_toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy as an installed package, which kills the process over one of its logs."""
    site = tmp_path / "site"
    about = site / "deadly_toy-1.dist-info"
    about.mkdir(parents=True)
    (site / "deadly_toy.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly-toy\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[session_memory.adapters]\ntoy = deadly_toy\n")
    monkeypatch.syspath_prepend(site)
    registry.forget_loaded()
    yield
    monkeypatch.undo()
    registry.forget_loaded()


@on_sqlite
def test_an_adapter_that_kills_its_process_costs_its_log_alone(
    deadly_toy: None, tmp_path: Path
) -> None:
    root, store = tmp_path / ".toy", new_store()
    root.mkdir()
    for name in ("a", "deadly", "z"):
        event = '{"kind":"assistant_msg","role":"assistant","summary":"hello"}'
        (root / f"{name}.toy").write_text(f'{{"native_id":"{name}","events":[{event}]}}\n')
    _, outcome = collected(root, 2, store)
    assert (outcome.report.ingested, outcome.report.failed) == (2, 1)
    (problem,) = store.problems.every()
    assert problem.detail == "the process that read it ended twice (signal 6)"
    assert sorted(store.sessions.uids()) == ["toy:a", "toy:z"]
