"""Every test has a home and a store of its own, and runs on both databases.

On SQLite the store is at the default place below HOME; on PostgreSQL ``SESSION_MEMORY_STORE``
names it.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from forking import start_command

from session_memory.cli import main
from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.demo import demo_home
from session_memory.store import open_store
from session_memory.store.copying import copy_everything
from session_memory.testing.stores import PostgresStores, Stores

Run = Callable[..., Result]

FOREIGN = (
    "CLAUDE_CONFIG_DIR",
    "NO_COLOR",
    "SESSION_MEMORY_CONFIG",
    "SESSION_MEMORY_DEBUG",
    "SESSION_MEMORY_STORE",
    "XDG_CONFIG_HOME",
)


@pytest.fixture(autouse=True)
def home(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stores: Stores,
    database: str,
    request: pytest.FixtureRequest,
) -> Path:
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("TZ", "UTC")
    if database == "postgresql":
        has_store = request.node.get_closest_marker("no_store") is None
        store = stores.place("memory") if has_store else stores.empty_place("memory")
        monkeypatch.setenv("SESSION_MEMORY_STORE", store)
    return place


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the demo sessions. Tests get copies of it."""
    path = tmp_path_factory.mktemp("collected") / "demo.db"
    config = Config()
    with open_store(path) as store:
        sync(store, config, roots(config, (demo_home(),)), host="demo")
    return path


@pytest.fixture
def demo(
    collected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stores: Stores,
) -> Path | str:
    """A store with the demo sessions, named by ``SESSION_MEMORY_STORE``."""
    if isinstance(stores, PostgresStores):
        return stores.filled_place("memory", "demo", lambda place: copy_to(collected, place))
    directory = tmp_path / "store"
    directory.mkdir(mode=0o700)
    path = Path(shutil.copy(collected, directory / "memory.db"))
    path.chmod(0o600)
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(path))
    return path


def copy_to(origin: Path, place: str) -> None:
    with open_store(origin) as whole, open_store(place) as copy:
        copy_everything(whole, copy)


@pytest.fixture
def run() -> Run:
    """Run a command line in this process."""

    def invoke(*words: str, **extra: Any) -> Result:
        return CliRunner().invoke(main, words, **extra)

    return invoke


@pytest.fixture
def start() -> Callable[..., "subprocess.Popen[bytes]"]:
    """Start a command line as a process of its own, a fork of this one."""

    def popen(*words: str, **extra: Any) -> "subprocess.Popen[bytes]":
        return start_command(*words, env={**os.environ, **extra.pop("env", {})}, **extra)

    return popen
