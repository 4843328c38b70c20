"""Everything about retention holds on both databases."""

from pathlib import Path

import pytest
from keeping import Keeper

from session_memory.testing.stores import Stores


@pytest.fixture
def keeper(stores: Stores, tmp_path: Path) -> Keeper:
    """A home of logs, a store of it, and an archive beside."""
    return Keeper(tmp_path, stores.place("kept"))
