"""Stores that the tests of a module share, because they only read them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session_memory.store.store import Store
from session_memory.testing.collecting import collected


@pytest.fixture(scope="module")
def kept_open() -> Iterator[dict[tuple[str, Path], Store]]:
    """The stores of `collected_once`, by database and root."""
    stores: dict[tuple[str, Path], Store] = {}
    yield stores
    for store in stores.values():
        store.close()


@pytest.fixture
def collected_once(
    database: str, everywhere: None, kept_open: dict[tuple[str, Path], Store]
) -> Callable[[Path], Store]:
    """Call it for the store after one sync of a root. The tests of a module only read it."""

    def opened(root: Path) -> Store:
        if (database, root) not in kept_open:
            kept_open[database, root] = collected(root)
        return kept_open[database, root]

    return opened
