"""Fixtures for tests of reading: hostile sessions, stores of them, and a real browser."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import browser
from click.testing import CliRunner, Result

from session_memory.cli import main
from session_memory.demo import demo_home
from session_memory.store import Store, open_store

from .hostile import collected, hostile_home

__all__ = ["browser"]
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command line in this process, on the store of the test."""
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("TZ", "UTC")

    def invoke(*words: str, **extra: Any) -> Result:
        return CliRunner().invoke(main, words, **extra)

    return invoke


@pytest.fixture(scope="session")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the hostile session. Tests work on copies of it."""
    place = tmp_path_factory.mktemp("hostile")
    collected(hostile_home(place / "home").path, place / "memory.db")
    return place / "memory.db"


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the demo sessions. Tests work on copies of it."""
    path = tmp_path_factory.mktemp("demo") / "memory.db"
    collected(demo_home(), path)
    return path


@pytest.fixture
def evil(run: Run, tmp_path: Path, hostile_store: Path) -> Run:
    """Like `run`, on a store with the hostile session."""
    shutil.copyfile(hostile_store, tmp_path / "memory.db")
    return run


@pytest.fixture
def demo(run: Run, tmp_path: Path, demo_store: Path) -> Run:
    """Like `run`, on a store with the demo sessions."""
    shutil.copyfile(demo_store, tmp_path / "memory.db")
    return run


@pytest.fixture
def store(tmp_path: Path, demo_store: Path) -> Iterator[Store]:
    """An open store with the bundled sessions."""
    shutil.copyfile(demo_store, tmp_path / "memory.db")
    with open_store(tmp_path / "memory.db") as opened:
        yield opened
