"""Check whether new records with a known id have the content of the stored records with this id.

If not, the sessions are derived again, which compares all their records.
"""

from session_memory.adapters.base import Record
from session_memory.core.errors import AdapterError
from session_memory.derive.bodies import Bodies
from session_memory.derive.cluster_records import ClusterRecords
from session_memory.derive.contents import content_of
from session_memory.derive.raw_records import RecordPlace
from session_memory.store.record_keys import record_key
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store

# Deriving a session again is quicker than looking up more records one by one.
MOST_LOOKUPS = 100
# Looking up one record takes as long as reading this many events in their order.
LOOKUP_COST = 8


def repeats_stored(store: Store, session_id: int, records: list[Record], keys: set[bytes]) -> bool:
    """Whether the records with these keys repeat records that their session has stored.

    False also if there are too many of them to look up.
    """
    repeated = [r for r in records if r.key in keys and r.native_id and r.events]
    if len(repeated) > MOST_LOOKUPS:
        return False
    return not repeated or _repeats_each(store, session_id, repeated)


def _repeats_each(store: Store, session_id: int, records: list[Record]) -> bool:
    """Whether the session has the same stored content for each of the records.

    The stored records are looked up one by one.
    """
    contents = {record.key: content_of(record.events) for record in records}
    bodies = Bodies(store)
    return all(
        content_of(bodies.events_at(RecordPlace(source, place, length, 0))) == contents[key]
        for key, source, place, length in store.events.places(session_id, list(contents))
    )


def are_copies(store: Store, origin: CollectedSession, shared: list[Record]) -> bool:
    """Whether all of these records are copies of records that another session owns."""
    if len(shared) * LOOKUP_COST < origin.event_count:
        return _repeats_each(store, origin.id, shared)
    contents: dict[bytes, int] = {}
    try:
        for _, record in ClusterRecords(store, [origin]).of(0):
            if record.native_id and record.events:
                contents[record_key(record.native_id)] = content_of(record.events)
    except AdapterError:
        # The log cannot be read now. It is read again when the sessions are derived.
        return False
    return all(contents.get(record.key) == content_of(record.events) for record in shared)
