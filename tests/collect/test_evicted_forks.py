"""Forks that begin with another's history by reference, when that other one is evicted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import toy
from toy import ToyLog, prompt

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config, RetentionConfig
from session_memory.retain.restore import restore
from session_memory.retain.retention_run import retain
from session_memory.retain.units import units
from session_memory.store import Store
from session_memory.testing.agents import installed
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    contents,
    inherited_by,
    new_store,
)

LATER = 4_000_000_000_000
BASE = {"parent_session": "p", "relation": "fork", "base": {"session": "p", "ordinal": 1}}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with installed(toy.AGENT):
        yield


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(retention=RetentionConfig(archive_dir=str(tmp_path / "archive")))


def collect(store: Store, home: Path, config: Config) -> None:
    sync(store, config, roots(config, (home,)), host="here")


def evict(store: Store, config: Config) -> int:
    with store.transaction():
        store.db.execute("update sessions set analyzed_revision = revision")
    return retain(store, config, LATER, lambda uids: None).report.backstop_evicted


def test_a_fork_goes_and_comes_back_with_what_it_begins_with(
    tmp_path: Path, config: Config
) -> None:
    home = tmp_path / "home"
    ToyLog(home / "p.toy").add(prompt("one"), ordinal=0).write()
    ToyLog(home / "f.toy").add(prompt("two"), ordinal=1, **BASE).write()
    with new_store() as store:
        collect(store, home, config)
        assert [unit.uids for unit in units(store, 0)] == [("toy:f", "toy:p")]
        before = contents(store)
        assert evict(store, config) == 2
        restore(store, config, ["toy:f"], LATER)
        check_same(before, contents(store))


def test_a_new_fork_of_what_is_evicted_brings_that_back(tmp_path: Path, config: Config) -> None:
    home = tmp_path / "home"
    ToyLog(home / "p.toy").add(prompt("one"), ordinal=0).write()
    with new_store() as store:
        collect(store, home, config)
        assert evict(store, config) == 1
        ToyLog(home / "f.toy").add(prompt("two"), ordinal=1, **BASE).write()
        collect(store, home, config)
        held = [event.summary for _, event in inherited_by(store, "toy:f")]
        assert held == ["one"]
        check_sound(store)
