"""Tests of retention run on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from keeping import Keeper

from session_memory.testing.stores import Stores


@pytest.fixture
def keeper(stores: Stores, tmp_path: Path) -> Iterator[Keeper]:
    """A home directory with logs, a store and an archive."""
    keeper = Keeper(tmp_path, stores.place("kept"))
    yield keeper
    keeper.close()
