"""A query for sessions, which is answered when it is iterated over."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from session_memory.core.schema import Session
from session_memory.memory.session import StoredSession

if TYPE_CHECKING:
    from session_memory.pricing import Amount
    from session_memory.store import Store
    from session_memory.views.sessions import Filter, SessionList

# This many sessions are priced together, when the cost of one of them is asked for.
PRICED_TOGETHER = 100


class SessionQuery:
    """Sessions that a filter admits. Nothing is read before it is iterated over or listed.

    Every iteration asks the store again. The loop may ask the store other questions meanwhile. If
    the loop writes to the store, as a sync or an analysis does, make a list first.
    """

    def __init__(
        self, store: "Store", wanted: "Filter", *, sort: str = "newest", limit: int = 0
    ) -> None:
        self._store = store
        self._filter = wanted
        self._sort = sort
        self._limit = limit

    def __iter__(self) -> Iterator[StoredSession]:
        from session_memory.views.sessions import each_session

        found = each_session(self._store, self._filter, self._sort)
        records = islice(found, self._limit) if self._limit else found
        while batch := list(islice(records, PRICED_TOGETHER)):
            yield from self._stored(batch)

    def _stored(self, records: list[Session]) -> Iterator[StoredSession]:
        @cache
        def amounts() -> "dict[str, Amount]":
            from session_memory.pricing import session_amounts

            return session_amounts(self._store, [record.session_uid for record in records])

        return (StoredSession(self._store, record, amounts) for record in records)

    def listing(self) -> "SessionList":
        """Return all sessions of the query in one value with their cost: as ``sessions --json``."""
        from session_memory.views.sessions import list_sessions

        return list_sessions(
            self._store, self._filter, sort=self._sort, limit=self._limit, priced=True
        )

    def first(self) -> StoredSession | None:
        """Return the first matching session; None if no session matches."""
        return next(iter(SessionQuery(self._store, self._filter, sort=self._sort, limit=1)), None)

    def count(self) -> int:
        """Count the sessions that the filter admits, also those beyond the limit."""
        from session_memory.views.sessions import list_sessions

        return list_sessions(self._store, self._filter, limit=1).total

    def to_dict(self) -> dict[str, Any]:
        """Return the listed sessions as a dict, as ``sessions --json`` prints them."""
        return self.listing().to_dict()
