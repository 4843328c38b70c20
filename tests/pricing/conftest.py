"""An empty store, on both databases, to write usage into by hand."""

from collections.abc import Iterator

import pytest
from ledger import Ledger

from session_memory.testing.stores import Stores


@pytest.fixture
def ledger(stores: Stores) -> Iterator[Ledger]:
    with stores.new() as store:
        yield Ledger(store)
