"""Follow the agents' logs: an iterator over the events of a watch.

The watch has its own connection to the store, so the memory can be used while it runs.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from session_memory.collect.stop_flag import StopFlag
from session_memory.collect.watch_events import Idle, WatchEvent
from session_memory.live.threads import Threads

if TYPE_CHECKING:
    from session_memory.collect.watch import Watch


class Follow:
    """Iterates over the events of a watch, such as a sync or an error, and waits for the next one.

    The watch begins with a sync of everything. ``stop()`` ends it from another thread or a signal
    handler; leaving its ``with`` block ends it too.
    """

    _is_open = False

    def __init__(self, watch: "Callable[[StopFlag], Watch]", *, idle: bool = False) -> None:
        self._stop = StopFlag()
        self._idle = idle
        self._events = watch(self._stop).run()
        self._is_open = True

    def __iter__(self) -> "Follow":
        return self

    def __next__(self) -> WatchEvent:
        for event in self._events:
            if self._idle or not isinstance(event, Idle):
                return event
        self.close()
        raise StopIteration

    @property
    def is_stopping(self) -> bool:
        """Whether ``stop()`` was called."""
        return self._stop.is_set()

    def stop(self) -> None:
        """End the watch after its present step. Its last event has the totals."""
        if self._is_open:
            self._stop.set()

    def close(self) -> None:
        """End the watch and close its connection. Call it in the thread that iterates."""
        if self._is_open:
            self._is_open = False
            self._events.close()
            self._stop.close()

    def __del__(self) -> None:
        # The loop may have been left with break, and without a with block.
        self.close()

    def __enter__(self) -> "Follow":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class AsyncFollow:
    """`Follow` for asyncio: the watch runs in a thread of its own.

    If a caller is cancelled while it waits, no event is lost: the next caller gets it.
    """

    def __init__(self, open_follow: Callable[[], Follow]) -> None:
        self._open_follow = open_follow
        self._follow: Follow | None = None
        self._threads = Threads(1, "session-memory-follow")
        self._next: asyncio.Future[WatchEvent | None] | None = None
        self._is_open = True

    def __aiter__(self) -> "AsyncFollow":
        return self

    async def __anext__(self) -> WatchEvent:
        if not self._is_open:
            raise StopAsyncIteration
        if self._next is None:
            self._next = self._threads.run(self._wait)
        try:
            event = await asyncio.shield(self._next)
        finally:
            if self._next.done():
                self._next = None
        if event is None:
            await self.close()
            raise StopAsyncIteration
        return event

    def _wait(self) -> WatchEvent | None:
        if self._follow is None:
            self._follow = self._open_follow()
        return next(self._follow, None)

    def stop(self) -> None:
        """End the watch after its current step."""
        if self._follow is not None:
            self._follow.stop()

    async def close(self) -> None:
        """End the watch and close its connection."""
        if self._is_open:
            self._is_open = False
            self.stop()
            # Closed in the watch's own thread, after a call there that still waits for an event.
            await self._threads.run(self._end)
            await asyncio.to_thread(self._threads.close)

    def _end(self) -> None:
        if self._follow is not None:
            self._follow.close()

    async def __aenter__(self) -> "AsyncFollow":
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()
