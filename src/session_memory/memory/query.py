"""A question for sessions, answered when it is iterated over."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from session_memory.memory.session import StoredSession

if TYPE_CHECKING:
    from session_memory.store import Store
    from session_memory.views.sessions import Filter, SessionList


class SessionQuery:
    """Sessions that a filter admits. Nothing is read before it is iterated over or listed.

    Every iteration asks the store again, so it can be iterated over more than once.
    """

    def __init__(
        self,
        store: "Store",
        wanted: "Filter",
        *,
        sort: str = "newest",
        limit: int = 0,
        min_cost: int | None = None,
    ) -> None:
        self._store = store
        self._filter = wanted
        self._sort = sort
        self._limit = limit
        self._min_cost = min_cost

    def listing(self) -> "SessionList":
        """All of them in one value with their amounts: as ``sessions --json``."""
        from session_memory.views.sessions import list_sessions

        return list_sessions(
            self._store, self._filter, sort=self._sort, limit=self._limit, priced=True
        )

    def __iter__(self) -> Iterator[StoredSession]:
        listing = self.listing()
        for record in listing.sessions:
            amount = listing.amounts[record.session_uid]
            if self._min_cost is None or amount.microdollars >= self._min_cost:
                yield StoredSession(self._store, record, amount)

    def first(self) -> StoredSession | None:
        """The first one; None if there is none."""
        return next(iter(self), None)

    def count(self) -> int:
        """How many there are, whatever the limit."""
        return self.listing().total

    def to_dict(self) -> dict[str, Any]:
        """As ``sessions --json`` prints it."""
        return self.listing().to_dict()
