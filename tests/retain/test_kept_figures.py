"""The figures that are kept say what counting says, whatever happened to the sessions before."""

import random
from pathlib import Path

import pytest
from keeping import LATER, Keeper, talk

from session_memory import Memory
from session_memory.config import Config
from session_memory.core.money import OwnPrice
from session_memory.learn.analyze import analyze, prices_id
from session_memory.learn.version import analysis_version
from session_memory.pricing import figure_sets, kept_charges, kept_costs
from session_memory.pricing.amounts import charges
from session_memory.pricing.counted import Charge, UsageFilter, counted_charges
from session_memory.retain.forget import forget
from session_memory.retain.verification import verify
from session_memory.store import Store
from session_memory.store.digests import AnalysisVersion, Digests
from session_memory.store.totals import totals_by_flavor
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.collecting import rebuilt
from session_memory.testing.stores import Stores
from session_memory.views import stats
from session_memory.views.cost_days import offsets
from session_memory.views.dearest import dearest_sessions
from session_memory.views.files import list_files
from session_memory.views.kept_files import all_files
from session_memory.views.sessions import Filter, list_sessions
from session_memory.views.zones import zone

STEPS = 14
DAY_MS = 86_400_000
KEYS = ((), ("day",), ("repo",), ("outcome", "day"), ("session",))
CLOCKS = (offsets(zone("UTC")), offsets(zone("America/Sao_Paulo")))
PRICES = ({}, {"claude-*": OwnPrice(input=1.0, output=3.3)}, {"claude-*": OwnPrice(7.0, 0.7)})


@pytest.fixture
def _for_every_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_sets, "LEAST_SESSIONS", 0)


class Walk:
    """Does things at random with logs and with the store that collects them."""

    def __init__(self, keeper: Keeper, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.random = random.Random(seed)
        self.keeper = keeper
        self.monkeypatch = monkeypatch
        self.words = 0
        self.prices: dict[str, OwnPrice] = {}
        self.logs: list[ClaudeLog] = []
        for number in range(4):
            self.logs.append(keeper.claude.session(f"s{number}"))
            self.talk()
        keeper.store.own_prices = lambda: self.prices

    @property
    def store(self) -> Store:
        return self.keeper.store

    def log(self) -> ClaudeLog:
        return self.random.choice(self.logs)

    def talk(self) -> None:
        self.words += 1
        talk(self.log(), f"word{self.words}")

    def edit(self) -> None:
        log = self.log()
        log.answer(call("Edit", file_path=f"/repo/{self.random.choice('ab')}.py", old_string="a"))
        if self.random.random() < 0.7:
            log.result("updated", is_error=self.random.random() < 0.3)

    def fork(self) -> None:
        self.logs.append(self.keeper.claude.fork(self.log(), f"f{len(self.logs)}"))

    def start_a_subagent(self) -> None:
        log = self.log()
        if log.agent is None:
            self.logs.append(self.keeper.claude.subagent(log, f"a{len(self.logs)}"))
            talk(self.logs[-1], f"below{len(self.logs)}")

    def collect(self) -> None:
        self.keeper.collect()

    def analyze(self) -> None:
        analyze(self.store)

    def evict(self) -> None:
        self.keeper.evict(self.random.choice(self.store.sessions.uids()))

    def restore(self) -> None:
        self.keeper.restore()

    def rebuild(self) -> None:
        rebuilt(self.store)

    def forget(self) -> None:
        uids = self.store.sessions.uids()
        if len(uids) > 2:
            forget(self.store, self.keeper.config, [self.random.choice(uids)], LATER)

    def change_prices(self) -> None:
        self.prices = self.random.choice(PRICES)

    def write_marks(self) -> None:
        """Readers write what has changed, also if it is little."""
        self.patch("FEW_MARKS", 0)
        for clock in CLOCKS:
            figure_sets.keep_figures(self.store, clock)
        all_files(self.store, sort="changed", limit=0)
        self.patch("FEW_MARKS", 100)

    def patch(self, name: str, value: int) -> None:
        for module in (figure_sets, kept_charges, kept_costs):
            self.monkeypatch.setattr(module, name, value, raising=False)

    def step(self) -> str:
        often = (
            *(self.talk, self.edit, self.fork, self.start_a_subagent, self.collect),
            self.write_marks,
        )
        seldom = (
            *(self.analyze, self.evict, self.restore, self.rebuild, self.forget),
            self.change_prices,
        )
        chosen = self.random.choice((*often, *often, *seldom))
        chosen()
        return chosen.__name__


def _sorted(found: list[Charge]) -> list[tuple[object, ...]]:
    return sorted(
        ((repr(one.key), repr(one.rate), one.records, one.buckets, one.microdollars))
        for one in found
    )


def _compare(walk: Walk) -> None:
    store = walk.store
    times = [row[0] for row in store.db.all("select ts from usage where ts is not null")]
    moment = walk.random.choice(times or [0])
    clock = walk.random.choice(CLOCKS)
    figure_sets.keep_figures(store, clock)
    files = list_files(store, store.sessions.every())
    assert all_files(store, sort="changed", limit=0) == files
    since = walk.random.choice((None, moment, moment // DAY_MS * DAY_MS + 3 * 3_600_000))
    until = walk.random.choice((None, moment + 3 * DAY_MS, moment // DAY_MS * DAY_MS))
    _compare_statistics(walk, since, until)
    with store.db.snapshot():
        for keys in KEYS:
            wanted = UsageFilter(since=since, until=until)
            kept = kept_charges.kept_charges(store, keys, wanted, clock)
            assert kept is not None
            counted = counted_charges(store, keys, wanted, clock=clock)
            assert _sorted(kept) == _sorted(counted)
            assert _sorted(charges(store, keys, wanted, clock=clock)) == _sorted(counted)


def _compare_statistics(walk: Walk, since: int | None, until: int | None) -> None:
    filters = stats.StatsFilter(since=since, until=until, tz=zone("UTC"), limit=0)
    found = stats.statistics(walk.store, filters)
    with walk.monkeypatch.context() as patch:
        patch.setattr(stats, "plan", lambda *given: None)
        assert stats.statistics(walk.store, filters).to_dict() == found.to_dict()


def _compare_counts(store: Store) -> None:
    """What indexes count is what reading every session counts."""
    since = LATER - 3 * DAY_MS
    expected: dict[str, list[int]] = {}
    columns = "flavor, relation, coalesce(ended_at, started_at, 0), analyzed_at, evicted_at"
    for flavor, relation, end, analyzed, evicted in store.db.all(f"select {columns} from sessions"):
        sums = expected.setdefault(flavor, [0, 0, 0, 0])
        counts = (True, relation == "subagent", end >= since, analyzed is evicted is None)
        expected[flavor] = [one + is_so for one, is_so in zip(sums, counts, strict=True)]
    found = totals_by_flavor(store.db, since)
    assert {
        one.flavor: [one.sessions, one.subagents, one.recent, one.never_analyzed] for one in found
    } == expected
    digests, now = Digests(store.db), analysis_version()
    later = AnalysisVersion("ffff", now.release + 1)
    for version in (now, later):
        for prices in (prices_id(store), "other"):
            waiting = digests.unanalyzed(version, prices)
            assert digests.count_unanalyzed(version, prices) == len(waiting)


def _lists(store: Store) -> tuple[object, ...]:
    dear = dearest_sessions(store, since=None, until=None, limit=1)
    listed = list_sessions(store, Filter(folded=True), sort="cost", limit=3)
    return (
        [(one.session.session_uid, one.own, one.total) for one in dear],
        [one.session_uid for one in listed.sessions],
        listed.total,
    )


@pytest.mark.usefixtures("_for_every_store")
def test_kept_figures_are_those_of_counting_after_any_steps(
    stores: Stores, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3 if database == "sqlite" else 1):
        (tmp_path / f"{seed}").mkdir()
        keeper = Keeper(tmp_path / f"{seed}", stores.place(f"figures{seed}"))
        walk = Walk(keeper, seed, monkeypatch)
        walk.collect()
        done = []
        for _ in range(STEPS):
            done.append(walk.step())
            _compare(walk)
        kept = _lists(keeper.store)
        assert verify(keeper.store, sample=None).findings == [], done
        monkeypatch.setattr(figure_sets, "LEAST_SESSIONS", 1 << 40)
        with keeper.store.transaction():
            keeper.store.figures.discard()
        assert _lists(keeper.store) == kept, done
        _compare_counts(keeper.store)
        monkeypatch.setattr(figure_sets, "LEAST_SESSIONS", 0)
        keeper.close()


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("_for_every_store")
def test_a_sync_renews_figures_that_somebody_has_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure_sets, "FEW_MARKS", 0)
    home = ClaudeHome(tmp_path / "home")
    log = home.session("alpha")
    talk(log, "first")
    with Memory(str(tmp_path / "memory.db"), Config()) as memory:
        figures = memory.store.figures
        memory.sync(home.write())
        assert figures.sets() == []
        memory.cost(by="day")
        [used] = figures.sets()
        talk(log, "second")
        memory.sync(home.write())
        assert figures.sets() == [used]
        assert figures.marked(used.id, 1) == []
