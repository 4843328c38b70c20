"""After ``close()`` every use of a memory, and of what it returned, raises `StoreClosed`."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory import AsyncMemory, Memory, SessionStore, open_store
from session_memory.core.errors import InvalidRecord, SessionMemoryError, StoreClosed
from session_memory.demo import demo_home
from session_memory.testing.stores import Stores

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")


def refused(use: Callable[[], Any]) -> None:
    with pytest.raises(StoreClosed, match="is closed") as error:
        use()
    assert error.value.hint and error.value.kind == "store_closed"


def test_every_part_of_a_memory(filled: str | Path) -> None:
    memory = Memory(filled)
    session = next(one for one in memory.sessions() if one.children)
    query, event = memory.sessions(), next(iter(session.events))
    reading = iter(session.events)
    next(reading)
    memory.close()
    memory.close()
    for use in (
        memory.sync_demo,
        lambda: memory.sync(demo_home()),
        lambda: memory.analyze(session.uid),
        memory.follow,
        memory.sessions,
        lambda: memory.session(session.uid),
        lambda: memory.search("test"),
        memory.cost,
        memory.budget,
        memory.stats,
        memory.lessons,
        memory.retain,
        memory.sources,
        memory.verify,
        lambda: memory.backup("/copy.db"),
        lambda: memory.export("/copy.smx"),
        lambda: memory.live,
        lambda: memory.live_async,
        lambda: memory.store,
        lambda: list(query),
        query.count,
        query.first,
        query.to_dict,
        lambda: list(session.events),
        lambda: list(reading),
        lambda: session.text(event),
        lambda: session.payload(event),
        lambda: list(session.calls()),
        lambda: list(session.transcript()),
        lambda: session.title,
        lambda: session.cost,
        lambda: session.cost_with_subagents,
        lambda: session.usage,
        lambda: session.children,
        session.audit,
        session.digest,
        session.timeline,
        session.diff,
        session.family,
        session.similar,
        session.view,
    ):
        refused(use)
    # What was read stays readable.
    assert session.uid and session.record.flavor == session.flavor
    assert str(filled).rpartition("@")[2][:20] in repr(memory)


def test_its_live_stores_write_no_more(stores: Stores) -> None:
    place = stores.place("memory")
    memory = Memory(place)
    live, waiting = memory.live, memory.live_async
    session = live.create_session(title="before")
    memory.close()
    refused(lambda: live.create_session(title="after"))
    refused(lambda: live.append_message(session, role="user", content="after"))
    refused(lambda: live.load_path(session))
    refused(lambda: asyncio.run(_create(waiting)))
    with SessionStore.open(place) as other:
        assert [one.title for one in other.list_sessions()] == ["before"]


async def _create(live: Any) -> Any:
    return await live.create_session(title="after")


def test_an_async_memory(filled: str | Path) -> None:
    async def close_and_use() -> None:
        memory = await AsyncMemory.open(filled)
        live = memory.live
        await memory.close()
        await memory.close()
        for use in (
            memory.sync_demo,
            memory.cost,
            memory.verify,
            lambda: memory.run(lambda m: m.place),
            lambda: live.create_session(title="after"),
            lambda: anext(memory.follow()),
        ):
            with pytest.raises(StoreClosed) as error:
                await use()
            assert error.value.hint
        with pytest.raises(StoreClosed):
            _ = memory.live

    asyncio.run(close_and_use())


def test_a_store_in_memory() -> None:
    memory = Memory(":memory:")
    live = memory.live
    memory.close()
    refused(lambda: live.create_session(title="after"))
    refused(lambda: memory.live)


@pytest.mark.parametrize("shared", [False, True])
def test_a_closed_store_begins_no_transaction(stores: Stores, shared: bool, tmp_path: Path) -> None:
    store = open_store(stores.place("memory"))
    store.close()
    store.close()

    def write() -> None:
        with store.db.transaction(shared=shared):
            pass

    def lock() -> None:
        with store.db.operation_lock(shared=shared):
            store.db.value("select 1")

    def read() -> None:
        with store.db.snapshot():
            pass

    for use in (write, lock, read, lambda: store.backup(tmp_path / "copy.db")):
        refused(use)
    assert not (tmp_path / "copy.db").exists()


def test_closing_a_memory_ends_its_follows(home: Path) -> None:
    memory = Memory(home / "memory.db")
    follow = memory.follow(demo_home(), idle=True)
    assert type(next(follow)).__name__ == "Started"
    memory.close()
    assert type(list(follow)[-1]).__name__ == "Stopped"


@pytest.mark.parametrize("value", ["zz", "", "FULL", None, 1, True])
def test_an_unknown_durability_is_refused(stores: Stores, value: Any) -> None:
    place = stores.place("memory")
    for open_it in (
        lambda: Memory(place, durability=value),
        lambda: Memory.open(place, durability=value),
        lambda: SessionStore.open(place, durability=value),
        lambda: open_store(place, durability=value),
        lambda: asyncio.run(AsyncMemory.open(place, durability=value)),
    ):
        with pytest.raises(InvalidRecord, match="durability") as error:
            open_it()
        assert isinstance(error.value, SessionMemoryError)
        assert error.value.hint == "Choose one of: full, normal."
