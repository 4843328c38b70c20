"""Awaiting callers that are cancelled at any moment: the store stays usable, nothing is half-done.

``SESSION_MEMORY_CANCELS`` asks for more than the suite has time for.
"""

import asyncio
import gc
import os
import random
import threading
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.live_errors import LiveError
from session_memory.live.aio import AsyncSessionStore
from session_memory.live.store import SessionStore
from session_memory.retain.verification import verify
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .processes import PATIENCE_S, Child

CANCELS = int(os.environ.get("SESSION_MEMORY_CANCELS", "64"))
AT_ONCE = 8
LATEST_S = {"sqlite": 0.002, "postgresql": 0.02}
TOGETHER = 3


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["alone", "beside a writer"])
def test_whoever_is_cancelled_leaves_a_store_that_works(
    stores: Stores, database: str, beside: str
) -> None:
    place = stores.place("cancelled")
    campaign = Campaign(place, random.Random(beside), LATEST_S[database])
    if beside == "alone":
        asyncio.run(campaign.run(None))
    else:
        with Child("hold", place) as writer:
            assert writer.hear() == "ready"
            asyncio.run(campaign.run(writer))
    campaign.check()
    print(f"{database}, {beside}: {campaign}")


@dataclass
class Campaign:
    """Tasks are begun together and cancelled one by one, some while another process writes."""

    place: str = field(repr=False)
    chance: random.Random = field(repr=False)
    latest_s: float = field(repr=False)
    cancelled: int = 0
    completed: int = 0
    refused: int = 0
    acknowledged: list[str] = field(default_factory=list, repr=False)
    _tags: "count[int]" = field(default_factory=count, repr=False)

    async def run(self, writer: Child | None) -> None:
        async with await AsyncSessionStore.open(self.place) as store:
            await store.create_session(session_id="s")
            await self._append(store, "first")
            while self.cancelled < CANCELS:
                await self._round(store, writer)
                # At once, by the same store, and before that by another process.
                await asyncio.wait_for(self._append(store, f"ack-{next(self._tags)}"), PATIENCE_S)

    async def _round(self, store: AsyncSessionStore, writer: Child | None) -> None:
        if writer is not None:
            writer.tell("hold")
            assert writer.hear() == "held"
        tasks = [asyncio.create_task(self._operation(store)) for _ in range(AT_ONCE)]
        for task in tasks:
            await asyncio.sleep(self.chance.choice((0, self.chance.uniform(0, self.latest_s))))
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        if writer is not None:
            writer.tell("go")
            assert writer.hear() == "free"
        for end in ends:
            self._count(end)

    def _count(self, end: object) -> None:
        match end:
            case asyncio.CancelledError():
                self.cancelled += 1
            case LiveError():
                # Another of them came first: the head moved, or what it folds is gone.
                self.refused += 1
            case BaseException():
                raise end
            case _:
                self.completed += 1

    def _operation(self, store: AsyncSessionStore) -> Coroutine[Any, Any, Any]:
        tag = f"maybe-{next(self._tags)}"
        match self.chance.randrange(6):
            case 0:
                return self._fold(store, tag)
            case 1:
                return store.rewind("s", 1)
            case 2:
                return store.load_active_messages("s")
            case _:
                return self._append(store, tag)

    async def _append(self, store: AsyncSessionStore, tag: str) -> None:
        items = [{"role": "user", "content": f"{tag}/{n}"} for n in range(TOGETHER)]
        await store.append_messages("s", items)
        self.acknowledged.append(tag)

    async def _fold(self, store: AsyncSessionStore, tag: str) -> None:
        shown = await store.load_active_messages("s")
        ends = {"from_seq": shown[0].seq, "to_seq": shown[-1].seq}
        await store.record_compaction("s", **ends, note_content=f"{tag}/note")

    def check(self) -> None:
        with SessionStore.open(self.place) as store:
            everything = store.load_all_messages("s")
            notes = {fold.note_seq for fold in store.list_compactions("s")}
            assert store.append_message("s", role="user", content="last") == len(everything) + 1
        assert [message.seq for message in everything] == list(range(1, len(everything) + 1))
        said = Counter(
            str(message.content).partition("/")[0]
            for message in everything
            if message.seq not in notes
        )
        assert set(said.values()) == {TOGETHER}
        assert set(self.acknowledged) <= set(said)
        with open_store(self.place) as checked:
            assert verify(checked).findings == []


def test_opening_that_is_cancelled_leaves_nothing_open(stores: Stores) -> None:
    place = stores.place("cancelled")
    SessionStore.open(place).close()

    async def opened_and_cancelled() -> None:
        for rounds in range(12):
            task = asyncio.create_task(AsyncSessionStore.open(place))
            for _ in range(rounds % 4):
                await asyncio.sleep(0)
            task.cancel()
            (opened,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(opened, AsyncSessionStore):
                await opened.close()  # It was quicker than the cancelling.

    asyncio.run(opened_and_cancelled())
    for thread in threading.enumerate():
        if thread.name.startswith("session-memory"):
            thread.join(PATIENCE_S)
    # A connection to a server that is left to the garbage warns, which is an error.
    gc.collect()
    assert _open_files(place) == 0
    with SessionStore.open(place) as store:
        assert store.append_message(store.create_session(), role="user", content="x") == 1


def test_closing_that_is_cancelled_can_be_done_again(stores: Stores) -> None:
    place = stores.place("cancelled")

    async def closed_and_cancelled() -> None:
        store = await AsyncSessionStore.open(place)
        session = await store.create_session()
        appends = [store.append_message(session, role="user", content="x") for _ in range(20)]
        begun = [asyncio.create_task(append) for append in appends]
        await asyncio.sleep(0)
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0)
        closing.cancel()
        ends = await asyncio.gather(closing, *begun, return_exceptions=True)
        assert isinstance(ends[0], asyncio.CancelledError)
        await asyncio.wait_for(store.close(), PATIENCE_S)
        with SessionStore.open(place) as again:
            acknowledged = {end for end in ends[1:] if isinstance(end, int)}
            assert acknowledged <= {message.seq for message in again.load_path(session)}

    asyncio.run(closed_and_cancelled())
    assert _open_files(place) == 0


def test_a_subscriber_that_is_cancelled_is_gone_and_nobody_else(stores: Stores) -> None:
    async def followed() -> None:
        async with await AsyncSessionStore.open(stores.place("cancelled")) as store:
            session = await store.create_session()
            heard: asyncio.Queue[int] = asyncio.Queue()

            async def follow() -> None:
                async for message in store.events(session):
                    heard.put_nowait(message.seq)

            followers = [asyncio.create_task(follow()) for _ in range(3)]
            await store.append_message(session, role="user", content="x")
            assert [await heard.get() for _ in followers] == [1, 1, 1]
            followers[0].cancel()
            await asyncio.wait(followers[:1])
            await store.append_message(session, role="user", content="y")
            assert [await heard.get() for _ in followers[1:]] == [2, 2]
            await store.close_session(session)
            await asyncio.gather(*followers[1:])
            assert heard.empty()

    asyncio.run(asyncio.wait_for(followed(), PATIENCE_S))


def _open_files(place: str) -> int:
    """How many files of a store this process has open; none that are a server's."""
    links = Path("/proc/self/fd")
    if not links.exists():
        pytest.skip("only Linux tells which files are open")
    return sum(_target(link).startswith(place) for link in links.iterdir())


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
