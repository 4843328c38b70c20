"""An export with worker processes writes what an export without them writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.learn import session_orders
from session_memory.learn.analyze import analyze
from session_memory.learn.train import parallel_examples
from session_memory.learn.train.card import TrainingReport
from session_memory.learn.train.example import ExampleFilter
from session_memory.learn.train.export import export, preview
from session_memory.store.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import collect
from session_memory.views.sessions import Filter, each_session
from session_memory.workers.pool import OrderReturned, Pool, WorkerDied

pytestmark = pytest.mark.only("sqlite")
SESSIONS = 9


@pytest.fixture(autouse=True)
def workers_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers however little there is to read, with orders of few sessions."""
    monkeypatch.setattr(parallel_examples, "BYTES_PER_WORKER", 1)
    monkeypatch.setattr(session_orders, "ORDER_SESSIONS", 2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    claude = ClaudeHome(tmp_path, cwd="/home/mira/code/zonal")
    for number in range(SESSIONS):
        # Two sessions are the same, so only the first of them is kept.
        kind = min(number, SESSIONS - 2)
        wish = "print " + " ".join(f"tide{kind * 100 + hour}" for hour in range(60))
        log = claude.session(f"s{number}")
        log.prompt(f"Please {wish}.")
        log.answer("I run the tests.", call("Bash", command="pytest -q"))
        log.result("FAILED tests/test_a.py::test_one - assert 1 == 2\n1 failed", is_error=True)
        log.answer("I run the one test.", call("Bash", command="pytest -q tests/test_a.py"))
        log.result("5 passed in 0.10s")
        log.answer(f"Done: it can now {wish}, and all tests pass.")
        log.turn_ended()
    claude.write()
    with open_store(tmp_path / "memory.db") as opened:
        collect(opened, tmp_path)
        analyze(opened)
        yield opened


def exported(store: Store, out: Path, jobs: int) -> tuple[TrainingReport, dict[str, bytes]]:
    sessions = list(each_session(store, Filter()))
    report = export(store, sessions, ExampleFilter(), out, jobs=jobs)
    files = {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file()}
    return report, {name: path.read_bytes() for name, path in files.items()}


def test_the_files_are_the_same_with_any_number_of_workers(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = exported(store, tmp_path / "one", 1)
    assert expected[0].total > SESSIONS
    assert expected[0].dropped["sft"] == {"a near-duplicate": 1}
    taken = count_answers(monkeypatch)
    for jobs in (2, 4):
        assert exported(store, tmp_path / str(jobs), jobs) == expected
    assert taken == [*range(SESSIONS)] * 2


def test_a_preview_gives_the_same_report(store: Store, tmp_path: Path) -> None:
    expected = exported(store, tmp_path / "one", 1)[0]
    sessions = list(each_session(store, Filter()))
    report = preview(store, sessions, ExampleFilter(), jobs=2)
    assert (report.rows, report.scores, report.dropped) == (
        expected.rows,
        expected.scores,
        expected.dropped,
    )


@pytest.mark.parametrize("failure", [OrderReturned, WorkerDied])
def test_what_a_worker_leaves_is_made_here(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    expected = exported(store, tmp_path / "one", 1)
    take = Pool.take

    def leaving(pool: Pool, number: int, *, wait: bool) -> Iterator[Any]:
        answers = take(pool, number, wait=wait)
        assert answers is not None
        yield next(answers)
        raise failure

    monkeypatch.setattr(Pool, "take", leaving)
    assert exported(store, tmp_path / "two", 2) == expected


def count_answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    taken: list[int] = []
    take = Pool.take

    def counted(pool: Pool, number: int, *, wait: bool) -> Iterator[Any]:
        for place, found in take(pool, number, wait=wait) or ():
            taken.append(place)
            yield place, found

    monkeypatch.setattr(Pool, "take", counted)
    return taken
