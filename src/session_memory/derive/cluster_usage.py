"""The responses of a cluster of sessions: which rows are the same response, and for which session
each response counts."""

from collections.abc import Iterable

from session_memory.adapters.base import Record
from session_memory.derive.cluster_records import ClusterRecords
from session_memory.derive.found_usage import Response, usage_in
from session_memory.derive.owners import Owners, is_single
from session_memory.derive.same_responses import (
    Lines,
    SameResponses,
    rows_nearby,
    times_of,
    usage_key,
)
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import StoredUsage


class ClusterUsage:
    """Collects the responses of a cluster of sessions, and gives each response an owner.

    A set of sessions is a bit mask over their positions in ``rows``. ``evicted`` has the rows that
    count for evicted sessions of the cluster. ``same`` are the sets of sessions that have a
    response in common.
    """

    def __init__(
        self, store: Store, rows: list[CollectedSession], evicted_sessions: frozenset[int]
    ) -> None:
        self.evicted: dict[Response, list[StoredUsage]] = {}
        for usage in store.usage.counted_for(sorted(evicted_sessions)):
            response = usage.usage_id, usage.is_reported
            self.evicted.setdefault(response, []).append(usage)
        self.same: set[int] = set()
        self._store = store
        self._rows = rows
        # A fork of an imported session has another flavor than its origin.
        self._flavors = sorted({row.flavor for row in rows})
        self._known = {row.id for row in rows} | evicted_sessions
        self._used_by: dict[Response, int] = {}
        self._lines = Lines()

    def add(self, record: Record, mask: int) -> None:
        """Note that the sessions in ``mask`` hold a record with usage."""
        self._lines.add(record)
        for used in usage_in(record):
            response = used.usage_id, used.is_reported
            self._used_by[response] = self._used_by.get(response, 0) | mask

    def keys(self) -> list[int]:
        """The keys of all responses."""
        ids = {usage_id for usage_id, _ in self._used_by}
        return [usage_key(flavor, usage_id) for flavor in self._flavors for usage_id in ids]

    def outsiders(self, records: ClusterRecords) -> set[int]:
        """The sessions outside the cluster that have some of its responses."""
        return {
            usage.session_id
            for usage in self._stored(records)
            if usage.session_id not in self._known and self._lines.may_be_of(self._store, usage)
        }

    def _stored(self, records: ClusterRecords) -> list[StoredUsage]:
        """The stored rows that may be responses of the cluster."""
        store, rows, keys = self._store, self._rows, self.keys()
        own = sum(mask.bit_count() for mask in self._used_by.values())
        found = store.usage.stored_if_few(keys, known=own)
        if found is not None:
            return found
        times: set[tuple[int, int]] = set()
        for flavor in self._flavors:
            every = (record for index in range(len(rows)) for _, record in records.of(index))
            times |= times_of(flavor, every)
        near = {one for row in rows for one in store.sessions.family(row.uid)} - self._known
        return rows_nearby(store, keys, times, near)

    def assign(self, owners: Owners, sharing: Iterable[int], among: int) -> set[int]:
        """Let a response that several sessions logged count once, for its owner.

        Only responses of the sessions in the set ``among`` are assigned. ``sharing`` are the sets
        of sessions that share records. Returns the sessions whose usage changed.
        """
        changed: set[int] = set()
        index_of = {row.id: index for index, row in enumerate(self._rows)}
        same = SameResponses(self._rows, sharing, self._lines)
        for response, mask in self._used_by.items():
            if is_single(mask) or not mask & among:
                continue
            keys = [usage_key(flavor, response[0]) for flavor in self._flavors]
            logged = [
                usage
                for usage in self._store.usage.stored(keys)
                if (usage.usage_id, usage.is_reported) == response
                and usage.session_id in index_of
                and not self._counts_for_evicted(response, usage)
            ]
            # If all records with this response repeat the id of another record, ``logged`` is
            # empty.
            logged.sort(key=lambda usage: self._rows[index_of[usage.session_id]].uid)
            for group in same.groups(logged):
                holders = 0
                for usage in group:
                    holders |= 1 << index_of[usage.session_id]
                self.same.add(holders)
                changed |= self._give(group, self._rows[owners.of(holders)].id)
        return changed

    def _counts_for_evicted(self, response: Response, usage: StoredUsage) -> bool:
        away = self.evicted.get(response, ())
        return any(other.input_counts == usage.input_counts for other in away)

    def _give(self, group: list[StoredUsage], owner: int) -> set[int]:
        """Let only the best of several rows of a response count, and let it count for ``owner``."""
        # The largest output is the whole answer. Among equal rows, the owner's own is the best.
        best = max(group, key=lambda usage: (usage.output_tokens, usage.session_id == owner))
        usages = self._store.usage
        changed: set[int | None] = set()
        for usage in group:
            given = owner if usage is best else None
            if usage.is_reported:
                usages.give_report(usage.id, given)
            elif given != usage.owner_id:
                usages.set_owner(usage.id, given)
            if usage.is_reported or given != usage.owner_id:
                changed |= {given, usage.owner_id}
        return {session for session in changed if session is not None}
