"""Find new forks that can be appended, without deriving the sessions that they share records with.

A session may have thousands of forks. A further fork with records of its own changes nothing for
the others if the same session still owns what the fork copied. This module decides that from stored
rows, by the rules of `session_memory.derive.owners`.
"""

from session_memory.adapters.base import Record
from session_memory.derive.append_checks import NeedsDerivation
from session_memory.derive.content_checks import are_copies
from session_memory.derive.facts import logged_parent
from session_memory.derive.owners import NEVER
from session_memory.derive.writing import SessionWriting
from session_memory.store.record_keys import is_place
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store

MOST_RIVALS = 100


def plain_origin(
    store: Store,
    row: CollectedSession,
    writing: SessionWriting,
    records: list[Record],
    reason: NeedsDerivation,
) -> CollectedSession | None:
    """The origin of a new fork, if the origin owns all that the fork copied.

    None if the owners of some records could change, or if that takes too long to find out.
    """
    if not (reason.may_be_fork and writing.has_own_records and writing.shared_records):
        return None
    origin = store.sessions.row_by_id(next(iter(reason.sessions)))
    if origin.evicted_at is not None or origin.stale or origin.relation == "subagent":
        return None
    if _is_named_otherwise(store, row, origin):
        return None
    copies = [record for record in records if not writing.is_own(record.key)]
    if _holds_all_of(store, origin, writing):
        if not are_copies(store, origin, copies):
            return None
        origin.own_records = 0
        return origin
    if not origin.has_shared or not _are_shared(store, origin, writing):
        return None
    stays = _stays_shared if not origin.own_records else _stays_first
    if not stays(store, row, origin, writing, records):
        return None
    return origin if are_copies(store, origin, copies) else None


def _is_named_otherwise(store: Store, row: CollectedSession, origin: CollectedSession) -> bool:
    """Whether a log names another parent than the origin, or the new session as a parent."""
    named = logged_parent(row)
    is_other = named not in (None, origin.uid) and origin.has_shared
    return bool(is_other or store.sessions.children(row.uid))


def _holds_all_of(store: Store, origin: CollectedSession, writing: SessionWriting) -> bool:
    """Whether the new session copied every record of its origin, and the origin inherited none.

    Then the origin counts as copied whole and owns these records.
    """
    if not origin.has_shared:
        return len(writing.shared_records) == origin.own_records
    stored = store.events.records_of(origin.id)
    named = {record for record in stored if not is_place(record)}
    return named == writing.shared_records and not store.events.has_inherited(origin.id)


def _are_shared(store: Store, origin: CollectedSession, writing: SessionWriting) -> bool:
    """Whether each of the copied records is also in a third session.

    If not, records that only the origin held are shared now, so owners may change.
    """
    shared = store.events.held_by_others(origin.id, sorted(writing.shared_records))
    return shared == writing.shared_records


def _stays_shared(
    store: Store,
    row: CollectedSession,
    origin: CollectedSession,
    writing: SessionWriting,
    records: list[Record],
) -> bool:
    """Whether the origin stays owner because it is the first session without own records."""
    rivals = store.sessions.wholly_shared(origin.flavor, before=origin.uid)
    if len(rivals) > MOST_RIVALS:
        return False
    keys = sorted(writing.shared_records)
    return not any(store.events.inherits_any(rival, keys) for rival in rivals)


def _stays_first(
    store: Store,
    row: CollectedSession,
    origin: CollectedSession,
    writing: SessionWriting,
    records: list[Record],
) -> bool:
    """Whether the origin stays owner because its first own record is before the fork's."""
    own = (r.ts for r in records if r.native_id and r.events and writing.is_own(r.key))
    ours, theirs = next(own, None), store.events.first_own_time(origin.id)
    return (_moment(theirs), origin.uid) < (_moment(ours), row.uid)


def _moment(ts: int | None) -> int:
    return NEVER if ts is None else ts
