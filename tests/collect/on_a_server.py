"""What tests of collecting do less often on a server, where each statement is a round trip.

Which statements run is tried in every case on SQLite. What PostgreSQL makes of each statement shows
in a few.
"""

from collections.abc import Collection, Iterable
from itertools import permutations
from typing import Any, TypeVar

import pytest

from session_memory.store import Store

T = TypeVar("T")
MOST_ORDERS = 24
HERE = pytest.mark.only("sqlite")


def cases(every: Iterable[T], on_a_server: Collection[T]) -> list[Any]:
    """The cases of a test: all of them on SQLite, and some on a server too."""
    return [pytest.param(one, marks=() if one in on_a_server else HERE) for one in every]


def orders_for(store: Store, things: Iterable[T]) -> list[tuple[T, ...]]:
    """Every order of up to four things; on a server the first, the last and one between."""
    every = list(permutations(things))
    if store.db.file is None and store.db.name != ":memory:":
        return list(dict.fromkeys((every[0], every[len(every) // 2], every[-1])))
    return every[:MOST_ORDERS]
