"""Reindex: build a new search index from the stored logs beside the old one, then swap them.

Until the swap, searches read the old index and syncs write to it. Sessions that a sync changed
meanwhile are read again in the transaction that swaps. A reindex that is killed leaves the old
index in place.
"""

import secrets
from array import array
from collections.abc import Callable, Iterator
from contextlib import nullcontext

from session_memory.core.errors import AdapterError, IndexTaken, StoreBusy
from session_memory.core.roles import LOGS
from session_memory.derive.bodies import Bodies, bodies_in
from session_memory.derive.readers import note_substitute
from session_memory.store.hits import Hits
from session_memory.store.index import event_of
from session_memory.store.store import Store

# Small, so that other writers wait less than 100 ms for one portion.
GATHERED = 2 * 1024 * 1024
ATTEMPTS = 3

UidAndRevision = tuple[str, int]
OnSession = Callable[[int, int], None]
"""Is called after each session with the number of sessions done and of all sessions."""


def no_progress(done: int, total: int) -> None:
    """An ``on_session`` that does nothing."""


def ensure_index(store: Store, on_session: OnSession = no_progress) -> bool:
    """Build the index if it is incomplete. Returns whether it is complete now.

    It stays incomplete when the store is read-only, when another process is building the index,
    or when another process has locked the store.
    """
    if store.index.is_complete:
        return True
    if store.db.is_read_only:
        return False
    try:
        reindex(store, on_session)
    except (IndexTaken, StoreBusy):
        return store.index.is_complete
    return True


def reindex(store: Store, on_session: OnSession = no_progress) -> int:
    """Build the index again from all sessions. Returns their number."""
    with store.db.operation_lock(shared=True):
        return _reindex(store, on_session)


def _reindex(store: Store, on_session: OnSession) -> int:
    for attempt in range(1, ATTEMPTS + 1):
        # A sync at the same time may force us to start again. The last attempt locks it out.
        with store.transaction() if attempt == ATTEMPTS else nullcontext():
            building = _IndexBuilding(store)
            sessions = store.sessions.revisions()
            for done, (session_id, version) in enumerate(sessions.items(), 1):
                building.add(session_id, version)
                on_session(done, len(sessions))
            if building.finish():
                break
    return len(sessions)


class _IndexBuilding:
    """One attempt to build the new index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._name = secrets.token_hex(8)
        self._seen: dict[int, tuple[UidAndRevision, array[int]]] = {}
        self._waiting: list[tuple[int, str]] = []
        self._size = 0
        with store.transaction():
            store.index.begin_next(self._name)

    def add(self, session_id: int, version: UidAndRevision) -> None:
        """Read a session into the new index."""
        with self._store.db.snapshot():
            docs = list(docs_of(self._store, session_id, version[0]))
        self._seen[session_id] = (version, array("q", (doc for doc, _ in docs)))
        self._waiting += docs
        self._size += sum(len(text) for _, text in docs)
        if self._size > GATHERED:
            with self._store.transaction():
                self._write_waiting()

    def _write_waiting(self) -> None:
        if not self._store.index.is_built_by(self._name):
            raise IndexTaken(self._store.db.name)
        docs, self._waiting, self._size = sorted(self._waiting), [], 0
        self._store.index.add_next(docs)

    def finish(self) -> bool:
        """Read changed sessions again and swap the indexes, in one transaction.

        Returns False, and swaps nothing, when everything must be read again.
        """
        store = self._store
        with store.transaction():
            self._write_waiting()
            now = store.sessions.revisions()
            evicted = store.retention.evicted_sessions()
            changed = [
                one
                for one, (version, docs) in self._seen.items()
                if now.get(one) != version or (docs and one in evicted)
            ]
            if self._has_reused_numbers(changed):
                return False
            for session_id in changed:
                store.index.drop_next(list(self._seen[session_id][1]))
            for session_id, version in now.items():
                if session_id not in self._seen or session_id in changed:
                    store.index.add_next(list(docs_of(store, session_id, version[0])))
            store.index.swap(store.sessions.titles())
        return True

    def _has_reused_numbers(self, changed: list[int]) -> bool:
        """Whether the same number was read for events of two sessions.

        SQLite reuses the numbers of deleted events. So a session that was derived again meanwhile
        may have left its numbers to another session.
        """
        if not changed:
            return False
        every = [doc for _, docs in self._seen.values() for doc in docs]
        return len(set(every)) < len(every)


def docs_of(store: Store, session_id: int, uid: str) -> Iterator[tuple[int, str]]:
    """The numbers of a session's events in the index, each with its text from the stored logs."""
    waiting = store.events.docs_by_place(session_id)
    native = uid.partition(":")[2]
    for source in store.sources.read_by(session_id):
        if source.role not in LOGS:
            continue
        try:
            for place, block, body in bodies_in(store, source, native):
                doc = waiting.pop((source.id, place, block), None)
                if doc is not None:
                    yield doc, body.text
        except AdapterError as error:
            note_substitute(store, source.flavor, str(error))
    # Events in another session's source, and those that their adapter could not read.
    left = {event_of(doc): doc for doc in waiting.values()}
    bodies = Bodies(store)
    for hit in Hits(store.db, store.names).of(sorted(left)).values():
        yield left[hit.event_id], bodies.at(hit.source, hit.place, hit.length, hit.block).text
