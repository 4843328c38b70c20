"""Reindex: build a new search index from the stored logs beside the old one, then swap them.

Until the swap, searches read the old index and syncs write to it. Sessions that a sync changed
meanwhile are read again. Everything is written in short transactions. A reindex that is killed
leaves the old index in place, and the next one deletes what was built.
"""

import secrets
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from session_memory.core.errors import AdapterError, IndexTaken, StoreBusy
from session_memory.core.roles import LOGS
from session_memory.derive.bodies import Bodies, bodies_in
from session_memory.derive.readers import note_substitute
from session_memory.store.hits import Hits
from session_memory.store.index import MERGE_EVERY, event_of
from session_memory.store.pieces import PieceShare, run_in_pieces
from session_memory.store.store import Store

# When a transaction has written this many characters of text to the index, it ends.
GATHERED = 512 * 1024
CATCH_UPS = 3
DROPPED = 200

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
    building = _IndexBuilding(store)
    sessions = store.sessions.revisions()
    for done, (session_id, version) in enumerate(sessions.items(), 1):
        building.add(session_id, version)
        on_session(done, len(sessions))
    building.finish()
    return len(sessions)


class _IndexBuilding:
    """A new index that is being built. A doc is the number of an event in the index, with its text.

    ``_seen``: the version of each session and the numbers of its docs as it was read, in the order
    of reading.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._name = secrets.token_hex(8)
        self._seen: dict[int, tuple[UidAndRevision, array[int]]] = {}
        self._waiting: list[tuple[int, str]] = []
        self._size = 0
        self._share = PieceShare()
        self._unmerged = 0
        self._has_begun = False
        with store.transaction():
            store.index.claim_next(self._name)
        # Check the claim here, too: another process may have claimed the index since, and begun a
        # new one that must not be deleted.
        run_in_pieces(self._building, store.index.unfinished_removed())
        with self._building():
            store.index.begin_next()
        self._has_begun = True

    @contextmanager
    def _building(self) -> Iterator[None]:
        """A transaction. Raises `IndexTaken` if another process builds an index or deleted this
        index."""
        with self._store.transaction():
            index = self._store.index
            if not index.is_built_by(self._name) or (self._has_begun and not index.has_next):
                raise IndexTaken(self._store.db.name)
            yield

    def add(self, session_id: int, version: UidAndRevision) -> None:
        """Read a session into the new index."""
        with self._store.db.snapshot():
            docs = list(docs_of(self._store, session_id, version[0]))
        self._seen[session_id] = (version, array("q", (doc for doc, _ in docs)))
        self._waiting += docs
        self._size += sum(len(text) for _, text in docs)
        while self._size > GATHERED * self._share.value:
            self._write_piece()

    def _write_piece(self) -> None:
        """Write some of the docs that wait, as many as fit into one short transaction."""
        room, count = GATHERED * self._share.value, 0
        while count < len(self._waiting) and (room > 0 or not count):
            room -= len(self._waiting[count][1])
            count += 1
        some, self._waiting = self._waiting[:count], self._waiting[count:]
        self._size -= sum(len(text) for _, text in some)
        # The same number occurs twice if its event was deleted and a new event got the number. Then
        # the later text is right.
        docs = self._store.index.prepared(sorted(dict(some).items()))
        with self._building():
            began = time.monotonic()
            self._store.index.add_next(docs)
        self._share.note(time.monotonic() - began)
        self._unmerged += 1
        if self._unmerged >= MERGE_EVERY:
            self._unmerged = 0
            run_in_pieces(self._building, self._store.index.next_merged())

    def _write_waiting(self) -> None:
        while self._waiting:
            self._write_piece()

    def finish(self) -> None:
        """Read changed sessions again, and swap the indexes."""
        for _ in range(CATCH_UPS):
            self._write_waiting()
            with self._store.db.snapshot():
                changed, now = self._changed()
            if not changed:
                break
            run_in_pieces(self._building, self._dropped(changed))
            for session_id in changed:
                if session_id in now:
                    self.add(session_id, now[session_id])
        self._write_waiting()
        self._swap()

    def _swap(self) -> None:
        """Read the sessions again that changed in the meantime, and put the new index in the place
        of the old one. One transaction does both, so no later change is missed."""
        index = self._store.index
        with self._building():
            changed, now = self._changed()
            for _ in self._dropped(changed):
                pass
            for session_id in changed:
                if session_id in now:
                    docs = docs_of(self._store, session_id, now[session_id][0])
                    index.add_next(index.prepared(docs))
            index.swap(self._store.sessions.titles())
        run_in_pieces(self._store.transaction, index.old_removed())

    def _changed(self) -> tuple[list[int], dict[int, UidAndRevision]]:
        """The sessions that changed since they were read, and the versions of all sessions."""
        now = self._store.sessions.revisions()
        evicted = self._store.retention.evicted_sessions()
        changed = [
            one
            for one, (version, docs) in self._seen.items()
            if now.get(one) != version or (docs and one in evicted)
        ]
        return changed + [one for one in now if one not in self._seen], now

    def _dropped(self, changed: list[int]) -> Iterator[None]:
        """Take changed sessions out of the new index, step by step.

        SQLite reuses the numbers of deleted events. A number that another session has now stays.
        """
        gone = [self._seen.pop(one)[1] for one in changed if one in self._seen]
        if not gone:
            return
        taken = {doc for _, docs in self._seen.values() for doc in docs}
        for docs in gone:
            for start in range(0, len(docs), DROPPED):
                some = docs[start : start + DROPPED]
                self._store.index.drop_next([doc for doc in some if doc not in taken])
                yield


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
    # The rest is read one by one: events in another session's source, and those that their adapter
    # could not read.
    left = {event_of(doc): doc for doc in waiting.values()}
    bodies = Bodies(store)
    for hit in Hits(store.db, store.names).of(sorted(left)).values():
        yield left[hit.event_id], bodies.at(hit.source, hit.place, hit.length, hit.block).text
