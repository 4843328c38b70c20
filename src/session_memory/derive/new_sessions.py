"""Append a stale session that has no events, if the other sessions with its records need no change.

Such a session is new, or it was evicted and its log is back. A long fork is read in several
batches, and only all its records together show that it is a plain fork (`plain_forks`). Then it is
appended, and the thousands of other forks of its origin are not derived again.
"""

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from session_memory.adapters.base import Record
from session_memory.core.errors import AdapterFailed, AdapterUnusable
from session_memory.core.roles import LOGS
from session_memory.derive.cluster_records import HELD_IN_MEMORY
from session_memory.derive.facts import base_of, origin_is_logged
from session_memory.derive.ingest import Ingest
from session_memory.derive.raw_source import stored_records
from session_memory.derive.repository_names import RepositoryNames
from session_memory.derive.settle import SettleState
from session_memory.derive.writing import decode_state, encode_state
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS


class NewSession(NamedTuple):
    """A session without events, and all its records."""

    store: Store
    row: CollectedSession
    source: SourceRow
    records: list[Record]

    @property
    def is_done(self) -> bool:
        """Always true: the session is written in one piece."""
        return True

    @property
    def sessions(self) -> Collection[int]:
        return (self.row.id,)

    @property
    def size(self) -> int:
        """The number of bytes of its log."""
        return self.source.kept

    def is_current(self) -> bool:
        row, sources = self.row, _logs_of(self.store, self.row.id)
        return self.store.sessions.row_by_id(row.id) == row and sources == [self.source]

    def write(self, now: int, repositories: RepositoryNames) -> bool:
        """Append the session, inside a transaction. False if it must be derived with others."""
        row = msgspec.structs.replace(self.row, stale=0)
        ingest = Ingest(self.store, now, repositories)
        if row.is_new:
            return ingest.append_if_safe(row, self.source, self.records) is None
        db = self.store.db
        db.execute("savepoint restored")
        is_written = self._write_restored(ingest, row)
        if not is_written:
            db.execute("rollback to savepoint restored")
        db.execute("release savepoint restored")
        return is_written

    def _write_restored(self, ingest: Ingest, row: CollectedSession) -> bool:
        """Append an evicted session that is back, as if it were new.

        False if it must be derived with others.
        """
        sessions = self.store.sessions
        evicted = {
            (row.id, other)
            for other in sessions.sharing_with(row.id)
            if sessions.row_by_id(other).evicted_at is not None
        }
        sessions.drop_derived(row.id)
        inferred = row.parent_uid
        reset(row)
        if row.parent_uid is None and inferred and sessions.is_evicted(inferred):
            return False
        ingest.rename(row, None)
        row.revision = row.has_shared = 0
        if ingest.append_if_safe(row, self.source, self.records) is not None:
            return False
        row.revision = self.row.revision + 1
        row.has_shared |= int(bool(evicted))
        sessions.set_sharing(evicted)
        sessions.save(row)
        return True


def new_session(store: Store, session_id: int) -> NewSession | None:
    """The session with its records, if it has no events and may be appended alone. Else None."""
    row = store.sessions.row_by_id(session_id)
    if not (row.is_new or _is_back(store, row)):
        return None
    sources = _logs_of(store, session_id)
    if len(sources) != 1 or sources[0].kept > HELD_IN_MEMORY:
        return None
    try:
        records = [
            record
            for record in stored_records(store, sources[0])
            if record.session == row.native_id and record.problem is None
        ]
    except (AdapterUnusable, AdapterFailed):
        return None
    return NewSession(store, row, sources[0], records)


def _is_back(store: Store, row: CollectedSession) -> bool:
    """Whether a session is a fork whose log came back after eviction, as if the fork were new.

    False if a response that counts for the session was logged by another session: then the usage of
    both must be compared.
    """
    return bool(
        row.has_shared
        and row.own_records
        and row.evicted_at is None
        and row.relation != "subagent"
        and base_of(row) is None
        and not decode_state(row.state).has_variants
        and not store.events.are_any(row.id)
        and not store.usage.is_logged_by_others(row.id)
    )


def _logs_of(store: Store, session_id: int) -> list[SourceRow]:
    return [one for one in store.sources.read_by(session_id) if one.role in LOGS]


def reset(row: CollectedSession) -> None:
    """Set a row back to what it was before its first record. Watermarks and document facts stay."""
    empty = SettleState()
    empty.set_sums(row)
    row.state = encode_state(empty)
    row.own_records = 0
    row.started_at = row.ended_at = None
    for name in BUCKETS:
        setattr(row, name, 0)
    if not origin_is_logged(row):
        row.parent_uid = row.relation = None
