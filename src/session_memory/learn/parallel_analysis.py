"""Read the sessions of an analysis in worker processes, if there are many events to read.

The results come in the order of the sessions, so the store is the same with any number of workers.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from session_memory.core.money import OwnPrice
from session_memory.derive.agents import noted_failures
from session_memory.derive.readers import substituted
from session_memory.learn.session_orders import (
    SessionOrder,
    continued,
    session_orders,
    workers_for,
)
from session_memory.learn.session_rows import (
    EVENTS_PER_WORKER,
    SessionReading,
    SessionRows,
    rows_of_sessions,
)
from session_memory.pricing.own_prices import own_prices
from session_memory.store.digests import UnanalyzedSession
from session_memory.store.store import Store, open_store
from session_memory.workers.pool import (
    NeedsParent,
    OrderReturned,
    Pool,
    WorkerDied,
)

TARGET = f"{__name__}:worker"
ORDER_EVENTS = 500
COLLECTED_AFTER = 100

Batch = list[UnanalyzedSession]
AnalysisOrder = SessionOrder[UnanalyzedSession]


class AnalysisSetting(msgspec.Struct, frozen=True):
    """What every worker needs to read sessions. ``place`` is the path of the store, ``prices`` the
    hash of all prices."""

    place: str
    prices: str
    own_prices: dict[str, OwnPrice]


class ParallelAnalysis(SessionReading):
    """Reads sessions in worker processes, if there are enough events for that.

    This process reads the sessions that a worker cannot read. It reads all sessions of a store that
    workers cannot open, such as one in memory or on a server.
    """

    def __init__(self, store: Store, batches: list[Batch], prices: str, jobs: int) -> None:
        super().__init__(store, prices)
        self._jobs = jobs
        self._events = sum(unread.events for batch in batches for unread in batch)
        self._batches = batches
        self._pool: Pool | None = None
        self._number = 0

    def started(self) -> AbstractContextManager[object]:
        jobs = workers_for(self.store, self._jobs, self._events, EVENTS_PER_WORKER)
        if not jobs:
            return nullcontext()
        orders = [order for batch in self._batches for order in _orders(batch)]
        setting = AnalysisSetting(
            str(self.store.db.file), self.prices, dict(own_prices(self.store))
        )
        self._pool = Pool(TARGET, setting, dict(enumerate(orders)), jobs, continued)
        return self._pool

    def rows(self, batch: Batch, failed: dict[str, str]) -> Iterator[tuple[int, SessionRows]]:
        if self._pool is None:
            yield from super().rows(batch, failed)
            return
        for order in _orders(batch):
            yield from self._answers(order, self._pool, failed)

    def _answers(
        self, order: AnalysisOrder, pool: Pool, failed: dict[str, str]
    ) -> Iterator[tuple[int, SessionRows]]:
        number, self._number = self._number, self._number + 1
        rest: AnalysisOrder | None = order
        try:
            if (sent := pool.take(number, wait=True)) is not None:
                for answer in sent:
                    rest = continued(order, answer)
                    yield answer
                return
        except OrderReturned:
            pass
        except WorkerDied as death:
            # The first session without an answer has most likely killed the worker.
            if rest is not None:
                failed[rest.sessions[0].uid] = str(death)
                rest = rest.after(rest.first)
        if rest is not None:
            for place, rows in rows_of_sessions(self.store, rest.sessions, self.prices, failed):
                yield rest.first + place, rows


def _orders(batch: Batch) -> Iterator[AnalysisOrder]:
    return session_orders(batch, lambda unread: unread.events, ORDER_EVENTS)


def worker(setting: AnalysisSetting) -> Callable[[AnalysisOrder], Iterator[Any]]:
    """Return the function with which a worker process answers orders.

    It yields the index of each session in its batch, and the rows to store. It writes nothing.
    """
    store = open_store(setting.place, create=False)
    store.own_prices = lambda: setting.own_prices
    # Garbage is collected after `COLLECTED_AFTER` sessions, without searching the loaded modules.
    gc.freeze()
    since = 0

    def answers(order: AnalysisOrder) -> Iterator[tuple[int, SessionRows]]:
        nonlocal since
        failed: dict[str, str] = {}
        for place, rows in rows_of_sessions(store, order.sessions, setting.prices, failed):
            _check(store, failed)
            yield order.first + place, rows
        _check(store, failed)
        since += len(order.sessions)
        if since >= COLLECTED_AFTER:
            since = 0
            gc.collect()

    return answers


def _check(store: Store, failed: dict[str, str]) -> None:
    if failed or substituted(store) or noted_failures():
        raise NeedsParent
