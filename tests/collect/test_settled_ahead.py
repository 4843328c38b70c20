"""Workers settle new logs ahead. The writer takes that over, or settles the stored log itself."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.collect import parallel_reading, read_worker
from session_memory.collect import sync as syncing
from session_memory.collect.batches import ReadTask
from session_memory.collect.discover import roots
from session_memory.collect.read_worker import ReadSetting, ReadWorker, SentChunk
from session_memory.collect.sync import Sync
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config
from session_memory.derive.writing import SessionWriting
from session_memory.store.fingerprint import fingerprint
from session_memory.store.store import Store
from session_memory.testing.collecting import new_store

pytestmark = pytest.mark.only("sqlite")


@pytest.fixture
def adopted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The native ids of the sessions that were written as a worker settled them."""
    monkeypatch.setattr(syncing, "BYTES_PER_WORKER", 0)
    monkeypatch.setattr(parallel_reading, "BYTES_PER_WORKER", 0)
    monkeypatch.setattr(parallel_reading, "SMALL_SOURCE", -1)
    natives: list[str] = []
    adopt = SessionWriting.adopt

    def counted(self: SessionWriting, settled: object) -> None:
        natives.append(self._row.native_id)
        adopt(self, settled)  # type: ignore[arg-type]

    monkeypatch.setattr(SessionWriting, "adopt", counted)
    return natives


def line(session: str, record: str, words: str, **more: object) -> str:
    message = {"role": "user", "content": words}
    time = "2026-01-01T00:00:00.000Z"
    known = {"type": "user", "uuid": record, "sessionId": session, "cwd": "/x", "timestamp": time}
    return json.dumps({**known, "message": message, **more}) + "\n"


def write(root: Path, session: str, *lines: str) -> None:
    place = root / "projects" / "-x" / f"{session}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(lines))


def collect(root: Path, jobs: int, store: Store | None = None) -> str:
    store = store or new_store()
    syncing.sync(store, Config(), roots(Config(), (root,)), host="here", jobs=jobs)
    return fingerprint(store)


def test_new_sessions_are_written_as_a_worker_settled_them(
    tmp_path: Path, adopted: list[str]
) -> None:
    root = tmp_path / ".claude"
    for name in ("one", "two"):
        write(root, name, line(name, f"{name}-1", "hello"), line(name, f"{name}-2", "again"))
    assert collect(root, 2) == collect(root, 1)
    assert sorted(adopted) == ["one", "two"]


def test_a_copied_record_is_compared_with_the_session_that_holds_it(
    tmp_path: Path, adopted: list[str]
) -> None:
    root = tmp_path / ".claude"
    shared = ("a", "hello"), ("b", "the work")
    write(root, "one", *(line("one", *one) for one in shared))
    write(root, "two", *(line("two", *one) for one in shared), line("two", "c", "more"))
    store = new_store()
    assert collect(root, 2, store) == collect(root, 1)
    # Which of the two logs comes first depends on their names in the file system.
    assert len(adopted) == 1
    assert [store.sessions.row(f"claude:{one}").event_count for one in ("one", "two")] == [2, 1]


def test_a_session_that_has_records_already_is_not_replaced(
    tmp_path: Path, adopted: list[str]
) -> None:
    root = tmp_path / ".claude"
    write(root, "one", line("one", "a", "hello"))
    write(root, "other", line("one", "b", "later", timestamp="2026-01-02T00:00:00.000Z"))
    store = new_store()
    assert collect(root, 2, store) == collect(root, 1)
    assert len(adopted) == 1
    assert store.sessions.row("claude:one").event_count == 2


def tasks_below(root: Path) -> list[ReadTask]:
    run = Sync(new_store(), Config(), "here", ReadProgress())
    run.look_below(roots(Config(), (root,)))
    return run.context.tasks


def answers(root: Path) -> Iterator[SentChunk]:
    worker = ReadWorker(ReadSetting(Config(), True, {}, "sqlite"))
    for task in tasks_below(root):
        yield from worker(task)


def test_a_torn_last_line_is_in_the_same_chunk(tmp_path: Path) -> None:
    write(tmp_path / ".claude", "one", line("one", "a", "hello"), '{"torn')
    (chunk,) = answers(tmp_path / ".claude")
    assert chunk.is_last and chunk.settled is not None and not chunk.records
    assert [pack.start for pack in chunk.packs] == [0, chunk.cursor.offset]


def test_a_log_with_many_lines_is_sent_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_worker, "MOST_SETTLED", 2)
    lines = [line("one", f"a{number}", "hello") for number in range(3)]
    write(tmp_path / ".claude", "one", *lines)
    (chunk,) = answers(tmp_path / ".claude")
    assert chunk.settled is None and len(chunk.records) == 3


def test_two_contents_with_one_id_are_left_to_the_writer(tmp_path: Path) -> None:
    write(tmp_path / ".claude", "one", line("one", "a", "hello"), line("one", "a", "other"))
    (chunk,) = answers(tmp_path / ".claude")
    assert chunk.settled is None
    assert [record.events[0].text for record in chunk.records] == ["hello", "other"]
