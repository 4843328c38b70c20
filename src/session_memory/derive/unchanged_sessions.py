"""Find the sessions of a cluster that stay as they are, or can be derived apart from the others.

A session may have thousands of forks. When one of these sessions grows, most forks own the same
records as before, so their stored events stay right. Only a few columns of a fork may change, such
as its parent and the usage that counts for it.
"""

from typing import NamedTuple

from session_memory.derive.cluster_records import ClusterRecords
from session_memory.derive.facts import origin_is_logged
from session_memory.derive.owners import Owners
from session_memory.derive.placement import infer_parent
from session_memory.derive.same_ids import SameIds
from session_memory.derive.writing import decode_state
from session_memory.store.record_keys import record_key
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

# The columns that readers see and that may change although the events stay.
_SHOWN = ("parent_uid", "relation", "repo", "domain", *BUCKETS)


class Unmoved(NamedTuple):
    """The positions of sessions that own the same records as before.

    The stored events of those in ``kept`` stay. Those in ``stale`` are derived again, in any order.
    """

    kept: frozenset[int] = frozenset()
    stale: tuple[int, ...] = ()


def unmoved(
    store: Store,
    rows: list[CollectedSession],
    records: ClusterRecords,
    same_ids: SameIds,
    owners: Owners,
) -> Unmoved:
    """Find the sessions that own the same records as before.

    The result is empty if their events may depend on more than that.
    """
    if len(rows) == 1 or records.have_bases or same_ids.contents:
        return Unmoved()
    if any(row.relation == "subagent" or decode_state(row.state).has_variants for row in rows):
        return Unmoved()
    stored = dict(store.events.holders(list(same_ids.holders)))
    moved: set[int | None] = set()
    for record, holders in same_ids.holders.items():
        owner = rows[owners.of(holders)].id
        if stored.get(record) != owner:
            moved |= {owner, stored.get(record)}
    stay = [index for index, row in enumerate(rows) if row.id not in moved]
    kept = frozenset(index for index in stay if not rows[index].stale)
    return Unmoved(kept, tuple(index for index in stay if index not in kept))


def inherits_from(
    index: int, records: ClusterRecords, same_ids: SameIds, owners: Owners
) -> int | None:
    """The position of the owner of the last record that a session inherits; None if it inherits
    none."""
    found = None
    for _, record in records.of(index):
        if record.native_id and record.events:
            owner = owners.of(same_ids.holders.get(record_key(record.native_id), 1 << index))
            found = found if owner == index else owner
    return found


def set_parent(row: CollectedSession, owner: CollectedSession | None) -> None:
    """Set the parent that is inferred from copied records, as deriving the session would do."""
    if not origin_is_logged(row):
        row.parent_uid = row.relation = None
    if owner is not None:
        infer_parent(row, owner)


def is_shown_otherwise(row: CollectedSession, before: CollectedSession) -> bool:
    """Whether a value of a session that readers see has changed."""
    return any(getattr(row, name) != getattr(before, name) for name in _SHOWN)
