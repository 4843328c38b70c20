"""A session that cannot be analyzed costs itself alone."""

from pathlib import Path

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.collect.watch_events import Idle, WatchError
from session_memory.config import Config, RetentionConfig
from session_memory.core.errors import AnalysisFailed
from session_memory.learn.analyze import analyze
from session_memory.memory import Memory
from session_memory.memory.retention import run_retention
from session_memory.memory.upkeep import Upkeep
from session_memory.store import Store, open_store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.stores import Stores

NAMES = ("alpha", "beta", "gamma")
# A name that the store does not have.
DAMAGE = """
    update events set tool = 99999 where session_id in (
        select id from sessions where uid = 'claude:beta')
"""


def filled(store: Store, home: Path) -> None:
    claude = ClaudeHome(home)
    for name in NAMES:
        log = claude.session(name)
        log.prompt("test it")
        log.run("pytest -q", "1 passed in 0.10s")
        log.answer("It passes.")
    claude.write()
    sync(store, Config(), roots(Config(), (home,)), host="here")
    with store.transaction():
        store.db.execute(DAMAGE)


def analyzed(store: Store) -> list[str]:
    return sorted(one.session_uid for one in store.sessions.every() if one.analyzed_at)


def test_all_others_are_analyzed_and_the_error_names_it(stores: Stores, tmp_path: Path) -> None:
    with stores.new() as store:
        filled(store, tmp_path / "home")
        for _ in range(2):
            with pytest.raises(AnalysisFailed) as failed:
                analyze(store)
            assert list(failed.value.failed) == ["claude:beta"]
            assert analyzed(store) == ["claude:alpha", "claude:gamma"]


@pytest.mark.only("sqlite")
def test_a_watch_reports_it_once_and_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with open_store(place) as store:
        filled(store, tmp_path / "home")
    upkeep = Upkeep(lambda: Memory(place), analyze=True, every_s=0.0)
    said = [event for _ in range(3) for event in upkeep.after(Idle(at=1))]
    assert [type(event).__name__ for event in said] == ["WatchError", "SessionsAnalyzed"]
    assert isinstance(said[0], WatchError) and "claude:beta" in said[0].message


@pytest.mark.only("sqlite")
def test_over_the_hard_cap_it_is_reported_as_data_loss(tmp_path: Path) -> None:
    limits = RetentionConfig(
        raw_soft_cap_bytes=0, raw_hard_cap_bytes=0, archive=False, after_sync=True
    )
    with open_store(tmp_path / "memory.db") as store:
        filled(store, tmp_path / "home")
        report = run_retention(store, Config(retention=limits)).report
        assert (report.overflow_analyzed, report.overflow_data_loss) == (2, 1)
