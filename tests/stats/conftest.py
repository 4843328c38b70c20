"""Each test writes logs and collects them into a store, on both databases."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import collect
from session_memory.testing.stores import Stores
from session_memory.views.stats import SECTIONS, StatsFilter, StatsReport, statistics

Ask = Callable[..., Any]


@pytest.fixture
def collected(stores: Stores, claude: ClaudeHome) -> Iterator[Callable[[], Store]]:
    """Call it to collect the logs of ``claude`` into a new store."""
    with ExitStack() as stack:

        def make() -> Store:
            store = stack.enter_context(stores.new())
            collect(store, claude.write())
            return store

        yield make


@pytest.fixture
def ask(collected: Callable[[], Store]) -> Ask:
    """Call it for one section of a report on the logs of ``claude``."""

    def section(name: str, **filters: Any) -> Any:
        return report(collected(), [name], **filters).sections[name]

    return section


def report(store: Store, sections: Sequence[str] = SECTIONS, **filters: Any) -> StatsReport:
    return statistics(store, StatsFilter(**{"tz": UTC, **filters}), sections)


@pytest.fixture
def data_homes() -> list[Path]:
    """The recorded sessions of every agent."""
    data = Path(__file__).parent.parent / "data"
    return [
        home for agent in ("claude", "codex", "grok") for home in sorted((data / agent).iterdir())
    ]
