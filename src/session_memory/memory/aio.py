"""`AsyncMemory`: a `Memory` for asyncio, which runs in a thread of its own.

Most methods here run the method of `Memory` with the same name, so there is one implementation. A
cancelled caller returns at once; the operation that it started still completes.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from session_memory.live.threads import Threads
from session_memory.memory.follow import AsyncFollow, Follow
from session_memory.memory.memory import Memory

if TYPE_CHECKING:
    from session_memory.config import Config
    from session_memory.live import AsyncSessionStore

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate["AsyncMemory", P], Coroutine[Any, Any, T]]:
    """Make the awaitable method for a method of `Memory`, with the same name and signature."""

    async def run(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(lambda memory: method(memory, *args, **kwargs))

    update_wrapper(run, method)
    return run


def _followed(
    method: Callable[Concatenate[Memory, P], Follow],
) -> Callable[Concatenate["AsyncMemory", P], AsyncFollow]:
    """Make the method for a method of `Memory` that is iterated over with ``async for``."""

    def follow(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> AsyncFollow:
        return AsyncFollow(lambda: method(self._memory, *args, **kwargs))

    update_wrapper(follow, method)
    return follow


class AsyncMemory:
    """A `Memory` whose answers are awaited. Open it with ``await AsyncMemory.open()``.

    It has the methods of `Memory` that return a complete answer. For everything else, `run` calls a
    function in the memory's thread:
    ``await memory.run(lambda m: [s.title for s in m.sessions()])``.
    """

    _is_closed = False

    def __init__(self, memory: Memory, threads: Threads) -> None:
        self._memory = memory
        self._threads = threads

    @classmethod
    async def open(
        cls,
        store: str | Path | None = None,
        config: "Config | str | Path | None" = None,
        *,
        create: bool = True,
        durability: str = "full",
    ) -> "AsyncMemory":
        """Open the store and the configuration as `Memory` does, without blocking the loop."""
        threads = Threads(1, "session-memory")
        opening = threads.run(partial(Memory, store, config, create=create, durability=durability))
        try:
            return cls(await asyncio.shield(opening), threads)
        except asyncio.CancelledError:
            # The store may be opened after the caller was cancelled. Then it is closed at once.
            opening.add_done_callback(_close_opened)
            raise

    async def run(self, function: Callable[[Memory], T]) -> T:
        """Call a function with the memory, in the memory's thread.

        The function must return complete values: a list, not a query or an iterator.
        """
        outcome: asyncio.Future[T] = self._threads.run(partial(function, self._memory))
        return await outcome

    sync = _awaited(Memory.sync)
    sync_demo = _awaited(Memory.sync_demo)
    import_live = _awaited(Memory.import_live)
    analyze = _awaited(Memory.analyze)
    search = _awaited(Memory.search)
    search_sessions = _awaited(Memory.search_sessions)
    similar = _awaited(Memory.similar)
    fix = _awaited(Memory.fix)
    how = _awaited(Memory.how)
    why = _awaited(Memory.why)
    why_commit = _awaited(Memory.why_commit)
    tasks = _awaited(Memory.tasks)
    cost = _awaited(Memory.cost)
    cost_audit = _awaited(Memory.cost_audit)
    prices = _awaited(Memory.prices)
    budget = _awaited(Memory.budget)
    stats = _awaited(Memory.stats)
    files = _awaited(Memory.files)
    commands = _awaited(Memory.commands)
    patterns = _awaited(Memory.patterns)
    retro = _awaited(Memory.retro)
    lessons = _awaited(Memory.lessons)
    skills = _awaited(Memory.skills)
    retain = _awaited(Memory.retain)
    sources = _awaited(Memory.sources)
    problems = _awaited(Memory.problems)
    verify = _awaited(Memory.verify)
    backup = _awaited(Memory.backup)
    export = _awaited(Memory.export)

    follow = _followed(Memory.follow)

    @property
    def live(self) -> "AsyncSessionStore":
        """The live sessions of this store."""
        return self._memory.live_async

    async def close(self) -> None:
        """Close the store, after the operations that were started have ended."""
        if not self._is_closed:
            self._is_closed = True
            await self.run(Memory.close)
            await asyncio.to_thread(self._threads.close)

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()


def _close_opened(opening: "asyncio.Future[Memory]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
