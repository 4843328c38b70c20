"""Threads that work for an event loop: an operation goes in, and its outcome comes back.

Like an executor of the standard library, but with one hand-over each way instead of four: an append
takes less time than those do. What was begun ends, whoever has stopped waiting for it.
"""

import asyncio
import atexit
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from session_memory.core.errors import StoreError

Work = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]
Queue = SimpleQueue[Work | None]


class Threads:
    """A few threads that take operations in turn, until they are closed."""

    def __init__(self, count: int, name: str) -> None:
        self._queue: Queue = SimpleQueue()
        # Of a store that is left to the garbage the threads end, too.
        self._end = weakref.finalize(self, _end, self._queue, count)
        self._end.atexit = False
        # Nobody has to close a store before the program ends; `_end_all` waits for what was begun.
        self._threads = [
            threading.Thread(target=_work, args=(self._queue,), name=f"{name}-{n}", daemon=True)
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()
        _open.add(self)

    def run(self, operation: Callable[[], Any]) -> "asyncio.Future[Any]":
        """The outcome, to be awaited; one that is cancelled before its turn is not begun."""
        if not self._end.alive:
            raise StoreError("the store is closed")
        loop = asyncio.get_running_loop()
        outcome = loop.create_future()
        self._queue.put((loop, outcome, operation))
        return outcome

    def close(self) -> None:
        """After what was put in before has ended."""
        self._end()
        for thread in self._threads:
            thread.join()


def _end(queue: Queue, count: int) -> None:
    for _ in range(count):
        queue.put(None)


def _work(queue: Queue) -> None:
    while (work := queue.get()) is not None:
        loop, outcome, operation = work
        if not outcome.cancelled():
            result, error = _outcome(operation)
            # A loop that is gone has nobody who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_tell, outcome, result, error)
            del result, error
        # Nothing is kept alive while there is nothing to do.
        del work, loop, outcome, operation


def _outcome(operation: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return operation(), None
    except BaseException as error:
        return None, error


def _tell(outcome: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if outcome.cancelled():
        return
    if error is None:
        outcome.set_result(result)
    else:
        outcome.set_exception(error)


_open: "weakref.WeakSet[Threads]" = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for threads in list(_open):
        threads.close()
