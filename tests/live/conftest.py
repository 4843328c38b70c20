"""A live store on either database."""

from collections.abc import Iterator

import pytest

from session_memory.live import SessionStore
from session_memory.store import Store
from session_memory.testing.stores import Stores


@pytest.fixture
def opened(stores: Stores) -> Iterator[Store]:
    """An empty store; the live store is a part of it."""
    with stores.new() as store:
        yield store


@pytest.fixture
def live(opened: Store) -> SessionStore:
    return SessionStore(opened.db)
