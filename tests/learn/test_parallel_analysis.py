"""An analysis with worker processes stores what an analysis without them stores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.errors import AnalysisFailed
from session_memory.learn import analyze as analysis
from session_memory.learn import parallel_analysis, session_orders
from session_memory.learn.analyze import Analyzed, analyze
from session_memory.store.store import Store, open_store
from session_memory.workers.pool import OrderReturned, Pool, WorkerDied

pytestmark = pytest.mark.only("sqlite")
NOW = 1_800_000_000_000
DATA = Path(__file__).parent.parent / "data" / "codex"
_TABLES = ("digests", "signals", "error_fingerprints", "recall_sessions", "recall_terms")


@pytest.fixture(autouse=True)
def workers_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers however little there is to read, with orders of few sessions."""
    for module in (analysis, parallel_analysis):
        monkeypatch.setattr(module, "EVENTS_PER_WORKER", 1)
    monkeypatch.setattr(session_orders, "ORDER_SESSIONS", 3)


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    with open_store(tmp_path / "collected.db") as store:
        sync(store, Config(), roots(Config(), (DATA,)), host="here", jobs=1)
    return tmp_path / "collected.db"


def stored(where: Path, jobs: int) -> tuple[Analyzed, list[Any]]:
    """What an analysis of a copy of the store reports, and the rows that it wrote."""
    copy = where.with_name("copy.db")
    copy.unlink(missing_ok=True)
    with open_store(where, create=False) as store:
        store.backup(copy)
    with open_store(copy, create=False) as store:
        return analyze(store, now=NOW, jobs=jobs), rows_in(store)


def rows_in(store: Store) -> list[Any]:
    return [sorted(store.db.all(f"select * from {table}"), key=repr) for table in _TABLES]


def test_the_rows_are_the_same_with_any_number_of_workers(
    collected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = stored(collected, 1)
    assert expected[0].analyzed > 3
    taken = count_answers(monkeypatch)
    assert all(stored(collected, jobs) == expected for jobs in (2, 4))
    assert len(taken) == 2 * expected[0].analyzed


def count_answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    taken: list[int] = []
    take = Pool.take

    def counted(pool: Pool, number: int, *, wait: bool) -> Iterator[Any] | None:
        answers = take(pool, number, wait=wait)
        return None if answers is None else _noted(answers, taken)

    monkeypatch.setattr(Pool, "take", counted)
    return taken


def _noted(answers: Iterator[Any], taken: list[int]) -> Iterator[Any]:
    for place, rows in answers:
        taken.append(place)
        yield place, rows


def test_what_a_worker_gives_back_is_read_here(
    collected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = stored(collected, 1)
    take = Pool.take

    def returned(pool: Pool, number: int, *, wait: bool) -> Iterator[Any]:
        answers = take(pool, number, wait=wait)
        assert answers is not None
        yield next(answers)
        raise OrderReturned

    monkeypatch.setattr(Pool, "take", returned)
    assert stored(collected, 2) == expected


def test_a_session_that_no_worker_survives_keeps_no_other_waiting(
    collected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = stored(collected, 1)[0].analyzed
    take, deaths = Pool.take, [0]

    def dying(pool: Pool, number: int, *, wait: bool) -> Iterator[Any]:
        answers = take(pool, number, wait=wait)
        assert answers is not None
        if number == 0:
            deaths[0] += 1
            raise WorkerDied("the process that read it ended twice")
        yield from answers

    monkeypatch.setattr(Pool, "take", dying)
    with open_store(collected, create=False) as store:
        with pytest.raises(AnalysisFailed) as error:
            analyze(store, now=NOW, jobs=2)
        assert "ended twice" in str(error.value)
        assert store.db.value("select count(*) from digests") == expected - 1
    assert deaths == [1]


def test_little_to_read_and_a_store_in_memory_need_no_workers(
    collected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("no worker is needed")

    monkeypatch.setattr(parallel_analysis, "Pool", refuse)
    with open_store(":memory:") as store:
        sync(store, Config(), roots(Config(), (DATA,)), host="here", jobs=1)
        assert analyze(store, now=NOW, jobs=2).analyzed > 3
    monkeypatch.setattr(analysis, "EVENTS_PER_WORKER", 1_000_000)
    monkeypatch.setattr(parallel_analysis, "ParallelAnalysis", refuse)
    assert stored(collected, 0)[0].analyzed > 3
