"""What a type checker knows about the API; users check their own code against it.

This file is never run. mypy checks it together with the package: each answer has the type named
here, and each line with ``type: ignore`` is refused, or else the comment itself is an error.
"""

from decimal import Decimal
from typing import assert_type

from session_memory import (
    AsyncMemory,
    AsyncSessionStore,
    Memory,
    SessionEvent,
    SessionQuery,
    SessionStore,
    StoredSession,
)
from session_memory.collect.watch_events import WatchEvent
from session_memory.views.cost import CostReport
from session_memory.views.fixes import Remedies
from session_memory.views.search import Results


def ask() -> None:
    memory = Memory("memory.db", config=None)
    assert_type(memory, Memory)
    assert_type(memory.sessions(since="7d", min_cost=1.5), SessionQuery)
    assert_type(memory.sessions().first(), StoredSession | None)
    assert_type([one for one in memory.sessions()], list[StoredSession])  # noqa: C416
    session = memory.session("5b0c6a1e")
    assert_type(session.cost.dollars, Decimal)
    assert_type(list(session.events), list[SessionEvent])
    assert_type(session.children, list[StoredSession])
    assert_type(memory.search("word").hits[0].seq, int | None)
    assert_type(memory.fix("error"), Remedies)
    assert_type(memory.cost(by="month"), CostReport)
    assert_type(memory.verify().findings, tuple[str, ...])
    assert_type(memory.live, SessionStore)
    assert_type(next(memory.follow()), WatchEvent)
    memory.cost(since=1.5)  # type: ignore[arg-type]
    memory.follow(polling=True)  # type: ignore[call-arg]


async def ask_later() -> None:
    async with await AsyncMemory.open() as aio:
        assert_type(aio, AsyncMemory)
        assert_type(await aio.search("word", repo=["one", "two"]), Results)
        assert_type(await aio.run(lambda m: m.sessions().count()), int)
        assert_type(aio.live, AsyncSessionStore)
        async for event in aio.follow(poll=True):
            assert_type(event, WatchEvent)
        await aio.search(words="x")  # type: ignore[call-arg]
