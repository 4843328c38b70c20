"""Make the examples of sessions, in worker processes if there is much to read.

The examples come in the order of the sessions, so an export is the same with any number of workers.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import msgspec

from session_memory.core.schema import Session
from session_memory.derive.agents import noted_failures
from session_memory.derive.readers import substituted
from session_memory.learn.session_orders import (
    SessionOrder,
    continued,
    session_orders,
    workers_for,
)
from session_memory.learn.train import gate
from session_memory.learn.train.duplicates import Signature, exact_hash, signature
from session_memory.learn.train.example import Example, ExampleFilter, RefusedExample
from session_memory.learn.train.examples import examples
from session_memory.store.store import Store, open_store
from session_memory.workers.pool import (
    NeedsParent,
    OrderReturned,
    Pool,
    WorkerDied,
)

TARGET = f"{__name__}:worker"
# To start a worker takes about as long as to read this many bytes of logs.
BYTES_PER_WORKER = 16 * 1024 * 1024
ORDER_BYTES = 1024 * 1024


class MadeExample(msgspec.Struct, frozen=True):
    """An example with a hash of its text.

    A worker also computes the signature and the masked secrets, and sends the example without the
    text. Without a worker both are computed when they are needed.
    """

    example: Example
    exact: bytes
    known_signature: Signature | None = None
    known_secrets: dict[str, int] | None = None

    def signature(self) -> Signature:
        return self.known_signature or signature(self.example.text)

    def secrets(self) -> dict[str, int]:
        known = self.known_secrets
        return gate.masked_in(self.example.text) if known is None else known


Found = MadeExample | RefusedExample
ExampleOrder = SessionOrder[Session]


class ExampleSetting(msgspec.Struct, frozen=True):
    """What every worker needs. ``place`` is the path of the store. Without ``with_rows``, the
    messages of examples are not sent."""

    place: str
    options: ExampleFilter
    with_rows: bool


class ExampleMaking:
    """Makes the examples of ``sessions``, in their order."""

    def __init__(
        self,
        store: Store,
        sessions: list[Session],
        options: ExampleFilter,
        *,
        jobs: int,
        with_rows: bool,
    ) -> None:
        self._store, self._sessions, self._options = store, sessions, options
        self._with_rows = with_rows
        self._jobs = jobs
        self._orders: list[ExampleOrder] = []
        self._pool: Pool | None = None

    def started(self) -> AbstractContextManager[object]:
        """Start workers if that pays."""
        size = sum(map(_size, self._sessions))
        jobs = workers_for(self._store, self._jobs, size, BYTES_PER_WORKER)
        if not jobs:
            return nullcontext()
        self._orders = list(session_orders(self._sessions, _size, ORDER_BYTES))
        setting = ExampleSetting(str(self._store.db.file), self._options, self._with_rows)
        self._pool = Pool(TARGET, setting, dict(enumerate(self._orders)), jobs, continued)
        return self._pool

    def each(self) -> Iterator[list[Found]]:
        """Yield the examples of each session."""
        if self._pool is None:
            for session in self._sessions:
                yield list(_made(self._store, session, self._options))
            return
        for number, order in enumerate(self._orders):
            yield from self._answers(number, order, self._pool)

    def _answers(self, number: int, order: ExampleOrder, pool: Pool) -> Iterator[list[Found]]:
        rest: ExampleOrder | None = order
        try:
            for answer in pool.take(number, wait=True) or ():
                rest = continued(order, answer)
                yield answer[1]
        except (OrderReturned, WorkerDied):
            pass
        for session in rest.sessions if rest is not None else ():
            yield list(_made(self._store, session, self._options))


def _made(store: Store, session: Session, options: ExampleFilter) -> Iterator[Found]:
    for found in examples(store, session, options):
        if isinstance(found, RefusedExample):
            yield found
        elif found.score < gate.KEPT_FROM:
            yield RefusedExample(found.kind, gate.LOW_SCORE)
        else:
            yield MadeExample(found, exact_hash(found.text))


def _size(session: Session) -> int:
    return session.source_bytes or 0


def worker(setting: ExampleSetting) -> Callable[[ExampleOrder], Iterator[tuple[int, list[Found]]]]:
    """Return the function with which a worker process answers orders. It writes nothing."""
    store = open_store(setting.place, create=False)

    def answers(order: ExampleOrder) -> Iterator[tuple[int, list[Found]]]:
        for place, session in enumerate(order.sessions, order.first):
            if session.evicted_at is not None:
                # The log is in the archive. A worker does not know the directory of the archive.
                raise NeedsParent
            found = [
                _without_text(one, with_row=setting.with_rows)
                for one in _made(store, session, setting.options)
            ]
            if substituted(store) or noted_failures():
                raise NeedsParent
            yield place, found

    return answers


def _without_text(found: Found, *, with_row: bool) -> Found:
    if isinstance(found, RefusedExample):
        return found
    example = found.example
    row = example.row if with_row else {}
    sent = msgspec.structs.replace(example, text="", row=row)
    return MadeExample(sent, found.exact, found.signature(), found.secrets())
