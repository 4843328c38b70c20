"""Kept sums give the report that counting gives, for any period, whatever has changed since."""

from collections.abc import Iterator
from random import Random

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.config import Config
from session_memory.learn.analyze import analyze
from session_memory.pricing import figure_sets
from session_memory.retain.forget import forget
from session_memory.store import Store
from session_memory.store.statistics_parts import Scope
from session_memory.store.work_sums import DAY_MS, WIDTH
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage
from session_memory.testing.collecting import collect, rebuilt
from session_memory.testing.stores import Stores
from session_memory.views import stats
from session_memory.views.stats import kept
from session_memory.views.stats.sums import SortedValues, spread
from session_memory.views.zones import zone

from .conftest import report

HOUR_MS = 3_600_000
SESSIONS = 40
ZONES = (zone("UTC"), zone("America/Sao_Paulo"), zone("Asia/Kathmandu"))


@pytest.fixture(autouse=True)
def _for_every_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(figure_sets, "LEAST_SESSIONS", 0)
    monkeypatch.setattr(figure_sets, "FEW_MARKS", 4)
    yield


class Work:
    """Sessions over some months. Some last for days, and some go on after the others began."""

    def __init__(self, home: ClaudeHome) -> None:
        self.home, self.random, self.numbers = home, Random(5), iter(range(1_000_000))
        for _ in range(SESSIONS):
            self.more()

    def more(self) -> None:
        """A new session, or more of one of the last."""
        number, random = next(self.numbers), self.random
        self.home.clock.tick(random.choice((60_000, 9 * HOUR_MS, 3 * DAY_MS)))
        if not self.home.logs or random.random() < 0.7:
            self.home.session(f"s{number}", slug=random.choice("ab"))
        self.go_on(random.choice(self.home.logs[-6:]), number)

    def go_on(self, log: ClaudeLog, number: int) -> None:
        random = self.random
        log.prompt(f"question {number}")
        for _ in range(random.randrange(1, 4)):
            tokens = usage(random.randrange(1, 4000))
            name, given = random.choice(
                (
                    ("Bash", {"command": "pytest -q"}),
                    ("Edit", {"file_path": f"/repo/{random.choice('abc')}.py", "old_string": "x"}),
                    ("Read", {"file_path": "/repo/a.py"}),
                )
            )
            log.answer(call(name, **given), used=tokens, id=f"msg_{next(self.numbers)}")
            self.home.clock.tick(random.choice((700, 40_000, HOUR_MS)))
            if random.random() < 0.8:
                log.result("done", is_error=random.random() < 0.3)
        log.answer("ready", used=usage(random.randrange(1, 4000)), id=f"msg_{next(self.numbers)}")


def _periods(work: Work, store: Store) -> Iterator[tuple[int | None, int | None]]:
    first, last = store.db.all("select min(ts), max(ts) from events")[0]
    moment = work.random.randrange(first, last)
    yield moment, None
    yield None, work.random.choice((moment, moment // DAY_MS * DAY_MS))
    yield moment, moment + work.random.choice((HOUR_MS, DAY_MS, 40 * DAY_MS))
    yield None, None


def _compare(work: Work, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for since, until in _periods(work, store):
        how = {"since": since, "until": until, "tz": work.random.choice(ZONES), "limit": 0}
        found = report(store, **how)
        known = kept.statistics_set(store, how["tz"])
        assert known is not None
        assert kept.plan(store, Scope(since=since, until=until), known) is not None
        with monkeypatch.context() as patch:
            patch.setattr(stats, "plan", lambda *given: None)
            assert report(store, **how).to_dict() == found.to_dict()


def test_a_report_from_sums_is_the_counted_one(
    stores: Stores, claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(claude)
    with stores.new() as store:
        collect(store, claude.write())
        _compare(work, store, monkeypatch)
        for number in (1, 20):
            for _ in range(number):
                work.more()
            collect(store, claude.write())
            _compare(work, store, monkeypatch)
        forget(store, Config(), store.sessions.uids()[:3], now=claude.clock.ms)
        _compare(work, store, monkeypatch)
        rebuilt(store)
        _compare(work, store, monkeypatch)


@pytest.mark.only("sqlite")
def test_a_report_of_all_time_counts_only_what_has_changed(
    stores: Stores, claude: ClaudeHome
) -> None:
    work = Work(claude)
    with stores.new() as store:
        collect(store, claude.write())
        report(store, tz=ZONES[0])
        known = kept.statistics_set(store, ZONES[0])
        assert known is not None
        before = kept.plan(store, Scope(), known)
        assert before is not None
        assert before.counted == ()
        assert before.wide
        assert all(day % WIDTH == 0 for day in before.wide)
        work.go_on(claude.logs[0], 1_000_001)
        collect(store, claude.write())
        after = kept.plan(store, Scope(), known)
        assert after is not None
        changed = store.sessions.row(claude.logs[0].uid)
        assert changed is not None
        assert changed.id in after.counted
        assert len(after.counted) < SESSIONS // 4


@pytest.mark.only("sqlite")
def test_with_many_changes_the_sums_are_written_again(
    stores: Stores, claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(claude)
    with stores.new() as store:
        collect(store, claude.write())
        report(store, tz=ZONES[0])
        known = kept.statistics_set(store, ZONES[0])
        assert known is not None
        for number, log in enumerate(claude.logs):
            work.go_on(log, 2_000_000 + number)
        collect(store, claude.write())
        assert kept.plan(store, Scope(), known) is None
        report(store, tz=ZONES[0])
        plan = kept.plan(store, Scope(), known)
        assert plan is not None
        assert plan.counted == ()


@pytest.mark.only("sqlite")
def test_a_small_store_has_no_sums(
    stores: Stores, claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure_sets, "LEAST_SESSIONS", 2_000)
    Work(claude)
    with stores.new() as store:
        collect(store, claude.write())
        report(store)
        assert store.figures.sets() == []


@pytest.mark.only("sqlite")
def test_analysis_leaves_sums_as_they_are(stores: Stores, claude: ClaudeHome) -> None:
    Work(claude)
    with stores.new() as store:
        collect(store, claude.write())
        report(store, tz=ZONES[0])
        known = kept.statistics_set(store, ZONES[0])
        assert known is not None
        analyze(store)
        assert store.figures.marked(known.id, 1) == []


_AMOUNTS = st.integers(0, 9) | st.integers(-(1 << 40), 1 << 40)
_LISTS = st.lists(st.lists(_AMOUNTS, max_size=8), max_size=4)


@settings(max_examples=times(100))
@given(_LISTS)
def test_percentiles_of_runs_are_those_of_all_values(lists: list[list[int]]) -> None:
    ordered = sorted(value for values in lists for value in values)
    found = spread(SortedValues.of(values) for values in lists)
    if not ordered:
        assert found is None
        return
    count = len(ordered)
    median = next(one for n, one in enumerate(ordered, 1) if n * 2 >= count)
    p95 = next(one for n, one in enumerate(ordered, 1) if n * 100 >= count * 95)
    assert found == (count, median, p95, ordered[-1])
