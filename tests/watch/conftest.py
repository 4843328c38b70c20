"""Fixtures for tests of the watch: a home, a store on either database, and watches that end."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config
from session_memory.store.store import Store, open_store
from session_memory.testing.collecting import check_sound
from session_memory.testing.stores import Stores

from .watching import FORKS, HOST, Watching, until


class Memory:
    """A store, the root of its logs, and a check for the end of a test."""

    def __init__(self, root: Path, stores: Stores) -> None:
        self.root = root
        self.place = stores.place("memory")
        self._stores = stores

    def opened(self) -> Store:
        return open_store(self.place, durability="normal")

    def summaries(self, uid: str) -> list[str]:
        with self.opened() as store:
            row = store.sessions.row(uid)
            return [] if row is None else [event.summary for event in store.events.of(row.id, uid)]

    def assert_as_if_synced_once(self, past: bool = False) -> None:
        """Check that the store equals one that a single sync of the same files gives.

        ``past``: files were rewritten or deleted, so the store may hold more than the files.
        """
        with self.opened() as store:
            until(lambda: self._is_all_read(store), "that all is read")
            check_sound(store)
            found = store.fingerprint()
        if not past:
            with self._stores.new() as fresh:
                self._sync(fresh)
                assert found == fresh.fingerprint()

    def wait_until_all_is_read(self) -> None:
        with self.opened() as store:
            until(lambda: self._is_all_read(store), "that all is read")

    def _is_all_read(self, store: Store) -> bool:
        looked = self._sync(store, dry_run=True)
        return not (looked.report.ingested or looked.vanished or store.sessions.stale())

    def _sync(self, store: Store, *, dry_run: bool = False) -> SyncOutcome:
        config = Config()
        return sync(store, config, roots(config, (self.root,)), host=HOST, dry_run=dry_run)


@pytest.fixture(scope="session", autouse=True)
def warm_forks() -> Iterator[None]:
    yield
    FORKS.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture
def memory(tmp_path: Path, stores: Stores) -> Memory:
    root = tmp_path / "logs"
    root.mkdir()
    return Memory(root, stores)


@pytest.fixture
def watch(memory: Memory, tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    """Call it to start a watch of the root that has read everything. It ends with the test."""
    started: list[Watching] = []
    config = tmp_path / "config.toml"
    config.write_text(f'host = "{HOST}"\n')

    def begin(
        *words: str, root: Path | None = memory.root, caught_up: bool = True, fresh: bool = False
    ) -> Watching:
        place = () if root is None else ("--root", str(root))
        shared = ("--store", memory.place, "--config", str(config), "--json")
        started.append(Watching("watch", *place, *shared, *words, fresh=fresh))
        if caught_up:
            started[-1].caught_up()
        return started[-1]

    yield begin
    for process in started:
        process.end()
