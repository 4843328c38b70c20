"""A team's store answers like a file."""

from pathlib import Path
from typing import Any

import pytest

from session_memory.derive.reindex import ensure_index
from session_memory.mcp.asking import AskedMemory
from session_memory.store import open_store
from session_memory.store.copying import copy_everything
from session_memory.testing.stores import PostgresStores, Stores

QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recall", {"query": "station cache"}),
    ("recall", {"query": "zebra frobnicator"}),
    ("recall", {"query": "tidewatch/stations.py"}),
    ("fix", {"error": "AttributeError: 'NoneType' object has no attribute 'hours'"}),
    ("sessions", {"file": "stations.py"}),
    ("sessions", {"since": "2020-01", "repo": "*"}),
    ("cost", {"by": "session"}),
)


@pytest.mark.only("postgresql")
def test_the_tools_answer_the_same(stores: Stores, demo_store: str, tidewatch: Path) -> None:
    def copy_to(place: str) -> None:
        with open_store(demo_store) as demo, open_store(place) as copy:
            copy_everything(demo, copy)
            ensure_index(copy)

    assert isinstance(stores, PostgresStores)
    asked = AskedMemory(stores.filled_place("mcp", "mcp", copy_to), None, tidewatch)
    on_file = AskedMemory(demo_store, None, tidewatch)
    for name, arguments in QUESTIONS:
        assert asked.answer(name, arguments) == on_file.answer(name, arguments)
    asked.close()
