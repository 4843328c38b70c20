"""Make the examples of sessions, in worker processes if there is much to read.

The examples come in the order of the sessions, so an export is the same with any number of workers.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import msgspec

from session_memory.core.schema import Session
from session_memory.derive.agents import noted_failures
from session_memory.derive.readers import substituted, unusable_flavors
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
    can_start,
    default_jobs,
)

TARGET = f"{__name__}:worker"
MOST_JOBS = 64
# To start a worker takes about as long as to read this many bytes of logs.
BYTES_PER_WORKER = 16 * 1024 * 1024
# Sessions are added to an order for a worker until their logs have this many bytes together, or
# until there are `ORDER_SESSIONS` of them.
ORDER_BYTES = 1024 * 1024
ORDER_SESSIONS = 20


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


class ExampleOrder(msgspec.Struct, frozen=True):
    """An order for a worker. ``first`` is the index of its first session."""

    first: int
    sessions: list[Session]


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
        self._jobs = min(jobs or default_jobs(), MOST_JOBS)
        self._orders: list[ExampleOrder] = []
        self._pool: Pool | None = None

    def started(self) -> AbstractContextManager[object]:
        """Start workers if that pays. A worker cannot open a store in memory or on a server."""
        size = sum(session.source_bytes or 0 for session in self._sessions)
        jobs = min(self._jobs, size // max(BYTES_PER_WORKER, 1))
        place = self._store.db.file
        if jobs < 2 or place is None or not can_start() or unusable_flavors(self._store):
            return nullcontext()
        self._orders = list(_orders(self._sessions))
        setting = ExampleSetting(str(place), self._options, self._with_rows)
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


def _orders(sessions: list[Session]) -> Iterator[ExampleOrder]:
    first = size = 0
    for place, session in enumerate(sessions):
        size += session.source_bytes or 0
        if size >= ORDER_BYTES or place - first + 1 >= ORDER_SESSIONS:
            yield ExampleOrder(first, sessions[first : place + 1])
            first, size = place + 1, 0
    if first < len(sessions):
        yield ExampleOrder(first, sessions[first:])


def continued(order: ExampleOrder, last: tuple[int, list[Found]]) -> ExampleOrder | None:
    """Return an order for the sessions after the last answer; None if no session is left."""
    rest = order.sessions[last[0] - order.first + 1 :]
    return ExampleOrder(last[0] + 1, rest) if rest else None


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
