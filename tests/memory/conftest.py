"""Every test has its own home and its own copy of a store with the demo sessions."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.store import open_store
from session_memory.store.copying import copy_everything
from session_memory.testing.stores import PostgresStores, Stores

# The answer of a command with --json.
AskCli = Callable[..., Any]


@pytest.fixture(autouse=True)
def home(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = own_home / "home"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture(scope="session")
def demo_store(analyzed_demo: Path) -> Path:
    return analyzed_demo


@pytest.fixture
def place(home: Path, demo_store: Path) -> Path:
    """The user's store at its default place, with the demo sessions."""
    path = home / ".session-memory" / "memory.db"
    path.parent.mkdir(mode=0o700)
    shutil.copyfile(demo_store, path)
    return path


@pytest.fixture
def filled(stores: Stores, demo_store: Path) -> str:
    """The place of a store with the demo sessions, on the database that the test runs on."""

    def copy_to(place: str) -> None:
        with open_store(demo_store) as demo, open_store(place) as copy:
            copy_everything(demo, copy)

    if isinstance(stores, PostgresStores):
        return stores.filled_place("memory", "memory", copy_to)
    path = Path(stores.empty_place("memory"))
    path.parent.mkdir(mode=0o700)
    shutil.copyfile(demo_store, path)
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def own_prices(home: Path) -> Path:
    """A configuration file with prices that are far above those of the price table."""
    path = home / ".session-memory" / "config.toml"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text('[prices."claude-*"]\ninput = 1000.0\noutput = 5000.0\n')
    return path


@pytest.fixture
def cli() -> AskCli:
    def ask(*words: str) -> Any:
        done = CliRunner().invoke(main, [*words, "--json"])
        # 3: done, but with problems. One line of the demo logs is broken.
        assert done.exit_code in (0, 3), done.output
        return json.loads(done.stdout)

    return ask
