"""Orders for worker processes that read sessions: a few sessions each, answered one by one."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from session_memory.derive.readers import unusable_flavors
from session_memory.store.store import Store
from session_memory.workers.pool import can_start, default_jobs

MOST_JOBS = 64
ORDER_SESSIONS = 20

One = TypeVar("One")


class SessionOrder(msgspec.Struct, Generic[One], frozen=True):
    """An order for a worker: read these sessions. ``first`` is the index that the first one has in
    the list from which the order was made."""

    first: int
    sessions: list[One]

    def after(self, place: int) -> "SessionOrder[One] | None":
        """An order for the sessions after the index ``place``; None if no session is left."""
        rest = self.sessions[place - self.first + 1 :]
        return SessionOrder(place + 1, rest) if rest else None


def session_orders(
    sessions: Sequence[One], size: Callable[[One], int], order_size: int
) -> Iterator[SessionOrder[One]]:
    """Yield orders for all sessions. An order ends when its sessions have ``order_size`` together,
    or when there are `ORDER_SESSIONS` of them."""
    first = together = 0
    for place, session in enumerate(sessions):
        together += size(session)
        if together >= order_size or place - first + 1 >= ORDER_SESSIONS:
            yield SessionOrder(first, list(sessions[first : place + 1]))
            first, together = place + 1, 0
    if first < len(sessions):
        yield SessionOrder(first, list(sessions[first:]))


def continued(order: SessionOrder[One], last: tuple[int, Any]) -> SessionOrder[One] | None:
    """What is left of an order after its last answer, which begins with the index of a session."""
    return order.after(last[0])


def workers_for(store: Store, jobs: int, size: int, worth_a_worker: int) -> int:
    """How many workers to start. 0: one process is as fast, or workers cannot do the work.

    Workers cannot open a store in memory or on a server. If an adapter is unusable, this process
    has to note it.
    """
    workers = min(jobs or default_jobs(), MOST_JOBS, size // max(worth_a_worker, 1))
    is_possible = store.db.file is not None and can_start() and not unusable_flavors(store)
    return workers if workers > 1 and is_possible else 0
