"""Tests of retention run on both databases."""

from pathlib import Path

import pytest
from keeping import Keeper

from session_memory.testing.stores import Stores


@pytest.fixture
def keeper(stores: Stores, tmp_path: Path) -> Keeper:
    """A home directory with logs, a store and an archive."""
    return Keeper(tmp_path, stores.place("kept"))
