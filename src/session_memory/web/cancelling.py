"""Stop the work for a request when nobody waits for its answer any more.

While somebody types, each key sends a new request, and the browser drops the earlier one. Its
database statement would go on and delay the newer answer.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from session_memory.memory import Memory
from session_memory.store.interrupting import interrupt

AGAIN_S = 0.05
T = TypeVar("T")


class Cancellation:
    """The memory that one request uses. Its statements can be stopped from another thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._memory: Memory | None = None

    @contextmanager
    def of(self, memory: Memory) -> Iterator[None]:
        """Within this block the statements of ``memory`` may be stopped."""
        self._memory = memory
        try:
            yield
        finally:
            # After this the next request may use the memory. Its statements must not be stopped.
            with self._lock:
                self._memory = None

    def stop(self) -> None:
        with self._lock:
            if self._memory is not None:
                interrupt(self._memory.store.db)


async def run_while_awaited(request: Request, work: Callable[[Cancellation], T]) -> T:
    """Do the work in a thread. If the browser drops the request, its statements are stopped."""
    cancellation = Cancellation()
    working = asyncio.ensure_future(run_in_threadpool(work, cancellation))
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        while not working.done():
            cancellation.stop()
            await asyncio.wait((working,), timeout=AGAIN_S)
        return working.result()
    finally:
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
