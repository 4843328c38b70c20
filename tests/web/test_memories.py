"""A memory is lent to one request after the other, and is closed after a failure."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.config import Config
from session_memory.core.errors import InvalidRecord, StoreError
from session_memory.memory import Memory
from session_memory.web.memories import Memories


@pytest.fixture
def memories(demo_store: Path) -> Iterator[Memories]:
    found = Memories(lambda: Memory(str(demo_store), Config(), create=False))
    yield found
    found.close()


def failed(memories: Memories, error: Exception) -> Memory:
    """The memory that was lent to a request that failed."""
    with pytest.raises(type(error)), memories.one() as memory:
        raise error
    return memory


def test_a_memory_is_lent_again(memories: Memories) -> None:
    with memories.one() as first:
        pass
    after_a_wrong_filter = failed(memories, InvalidRecord("no such filter", field="kind"))
    with memories.one() as last:
        assert last is first is after_a_wrong_filter


@pytest.mark.parametrize("error", [StoreError("a disk failed"), ValueError("a bug")])
def test_a_memory_is_closed_after_a_failure(memories: Memories, error: Exception) -> None:
    memory = failed(memories, error)
    with pytest.raises(StoreError, match="closed"):
        memory.store.sessions.uids()
    with memories.one() as other:
        assert other is not memory
        assert other.store.sessions.uids()
