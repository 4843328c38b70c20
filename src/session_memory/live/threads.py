"""Threads that run operations for an event loop.

They are faster than the executors of the standard library, whose overhead is larger than an append.
An operation that has started completes even if its caller was cancelled.
"""

import asyncio
import atexit
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

from session_memory.core.errors import StoreClosed
from session_memory.live.batches import Batch

Work = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]
Queue = SimpleQueue[Work | None]
Batches = Callable[[], AbstractContextManager[Batch]]

# A batch ends after this many operations or this much time, so that nobody waits for long.
LARGEST_BATCH, LONGEST_BATCH_S, LONGEST_WAIT_S = 128, 0.01, 0.002


class Threads:
    """Worker threads with one queue."""

    def __init__(self, count: int, name: str, batch: Batches | None = None) -> None:
        """With ``batch``, queued operations are run in one batch and answered together."""
        self._queue: Queue = SimpleQueue()
        # The threads also end when the store is garbage collected without being closed.
        self._end = weakref.finalize(self, _end, self._queue, count)
        self._end.atexit = False
        # Daemon threads: a program may exit without closing its store. `_end_all` waits for
        # operations that have started.
        given = (self._queue, batch)
        self._threads = [
            threading.Thread(target=_work, args=given, name=f"{name}-{n}", daemon=True)
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


def _work(queue: Queue, batch: Batches | None) -> None:
    last = _Together(0, 0.0)
    while (work := queue.get()) is not None:
        last.wait_for_as_many(queue)
        if batch is None or queue.empty():
            _deliver_later(work, *_outcome(work))
            last = _Together(0, 0.0)
        else:
            last = _work_together(queue, work, batch)
            if last.has_ended:
                return
        # An idle thread must not keep objects alive.
        del work


class _Together(NamedTuple):
    """A batch: how many operations it had, how long its sync took, whether the queue has ended."""

    size: int
    sync_s: float
    has_ended: bool = False

    def wait_for_as_many(self, queue: Queue) -> None:
        """Wait until as many operations are there as in the last batch, to sync once for all.

        Callers often send the next operation as soon as they have an answer. Waits for a quarter of
        a sync at most.
        """
        until = time.monotonic() + min(self.sync_s / 4, LONGEST_WAIT_S)
        while queue.qsize() + 1 < self.size and time.monotonic() < until:
            # Lets the callers run. A longer sleep would take longer than most syncs.
            time.sleep(0)


def _work_together(queue: Queue, work: Work | None, batch: Batches) -> _Together:
    """Run ``work`` and the operations queued after it, then sync once for all of them."""
    until = time.monotonic() + LONGEST_BATCH_S
    done: list[tuple[Work, Any, BaseException | None, bool]] = []
    with batch() as unsynced:
        while work is not None:
            before = unsynced.postponed
            result, error = _outcome(work)
            done.append((work, result, error, unsynced.postponed > before))
            if queue.empty() or len(done) == LARGEST_BATCH or time.monotonic() > until:
                break
            work = queue.get()
        started = time.monotonic()
        failure = _attempt(unsynced.sync)[1]
    sync_s = time.monotonic() - started
    for one, result, error, is_unsynced in done:
        _deliver_later(one, result, failure if is_unsynced and failure else error)
    return _Together(len(done), sync_s, has_ended=work is None)


def _deliver_later(work: Work, result: Any, error: BaseException | None) -> None:
    # RuntimeError: the event loop is closed, so nobody waits for the outcome.
    with suppress(RuntimeError):
        work[0].call_soon_threadsafe(_deliver, work[1], result, error)


def _outcome(work: Work) -> tuple[Any, BaseException | None]:
    """Run an operation and return its result or error. Skip one that was cancelled before."""
    return (None, None) if work[1].cancelled() else _attempt(work[2])


def _attempt(operation: Callable[[], Any]) -> tuple[Any, BaseException | None]:
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
