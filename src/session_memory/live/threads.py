"""Threads that run operations for an event loop.

They are faster than the executors of the standard library, whose overhead is larger than an append.
An operation that has started completes even if its caller was cancelled.
"""

import asyncio
import atexit
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from session_memory.core.errors import StoreClosed

Work = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]
Queue = SimpleQueue[Work | None]


class Threads:
    """Worker threads with one queue."""

    def __init__(self, count: int, name: str) -> None:
        self._queue: Queue = SimpleQueue()
        # The threads also end when the store is garbage collected without being closed.
        self._end = weakref.finalize(self, _end, self._queue, count)
        self._end.atexit = False
        # Daemon threads: a program may exit without closing its store. `_end_all` waits for
        # operations that have started.
        self._threads = [
            threading.Thread(target=_work, args=(self._queue,), name=f"{name}-{n}", daemon=True)
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()
        _open.add(self)

    def run(self, operation: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Queue an operation and return its future. Cancelling it before it starts skips it."""
        if not self._end.alive:
            raise StoreClosed("the store")
        loop = asyncio.get_running_loop()
        outcome = loop.create_future()
        self._queue.put((loop, outcome, operation))
        return outcome

    def close(self) -> None:
        """Wait for the queued operations, then end the threads."""
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
            # RuntimeError: the event loop is closed, so nobody waits for the outcome.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_deliver, outcome, result, error)
            del result, error
        # An idle thread must not keep objects alive.
        del work, loop, outcome, operation


def _outcome(operation: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return operation(), None
    except BaseException as error:
        return None, error


def _deliver(outcome: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
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
