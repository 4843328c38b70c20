"""Every recorded sample, of every agent: evicted, restored and forgotten, piece by piece."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from keeping import LATER, analyzed

from session_memory.config import Config, RetentionConfig
from session_memory.retain.forget import forget
from session_memory.retain.forget_plan import with_relatives
from session_memory.retain.restore import restore
from session_memory.retain.retention_run import retain
from session_memory.retain.units import units
from session_memory.store import Store, open_store
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    contents,
    rebuilt,
)
from session_memory.testing.stores import write_empty_store


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(retention=RetentionConfig(archive_dir=str(tmp_path / "archive")))


@pytest.fixture
def store(sample: Path, tmp_path: Path) -> Iterator[Store]:
    home = sample / "home"
    place = tmp_path / "store" / "memory.db"
    write_empty_store(place)
    with open_store(place, durability="normal") as made:
        collect(made, home if home.is_dir() else sample)
        yield made


def tokens(store: Store) -> int:
    every = store.sessions.every()
    return sum(one.cost.output_tokens + one.cost.input_tokens for one in every)


def evict_only(store: Store, config: Config, kept: set[str]) -> None:
    with store.transaction():
        for uid in kept:
            store.retention.pin(uid, 0)
    retain(store, config, LATER, lambda uids: None)
    with store.transaction():
        for uid in kept:
            store.retention.unpin(uid)


def test_everything_evicted_and_restored_is_what_it_was(store: Store, config: Config) -> None:
    before, spent = contents(store), tokens(store)
    analyzed(store)
    retain(store, config, LATER, lambda uids: None)
    assert store.retention.used_bytes() == 0 or not units(store, 0)
    assert tokens(store) == spent
    check_sound(rebuilt(store))
    assert tokens(store) == spent
    restore(store, config, None, LATER)
    check_same(before, contents(store))


def test_each_part_evicted_alone_leaves_the_rest_sound(store: Store, config: Config) -> None:
    before, spent = contents(store), tokens(store)
    for unit in units(store, 0)[:8]:
        analyzed(store)
        evict_only(store, config, set(store.sessions.uids()) - set(unit.uids))
        assert all(store.sessions.is_evicted(uid) for uid in unit.uids)
        assert tokens(store) == spent
        check_sound(store)
        restore(store, config, None, LATER)
        with store.transaction():
            for uid in unit.uids:
                store.retention.unpin(uid)
        check_same(before, contents(store))


def test_forgetting_one_session_leaves_the_rest_sound(
    sample: Path, store: Store, config: Config
) -> None:
    first = store.sessions.uids()[0]
    gone = with_relatives(store, [first])
    done = forget(store, config, gone, LATER)
    assert done.proof.found == []
    assert not set(store.sessions.uids()) & set(gone)
    check_sound(store)
    home = sample / "home"
    collect(store, home if home.is_dir() else sample)
    assert not set(store.sessions.uids()) & set(gone)
    fingerprint = store.fingerprint()
    assert rebuilt(store).fingerprint() == fingerprint
