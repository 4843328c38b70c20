"""Building the index of words anew from the raw, beside the old one, and swapping it whole.

Whoever searches meanwhile asks the old one; whoever collects meanwhile writes to the old one, and
the sessions it touched are read again before the swap. Killed anywhere, the old one is still there.
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

GATHERED = 8 * 1024 * 1024
ATTEMPTS = 3

Known = tuple[str, int]
"""A session's uid and revision."""


def nothing(done: int, whole: int) -> None:
    """For whoever does not want to hear how far it is."""


def ensure_index(store: Store, on_session: Callable[[int, int], None] = nothing) -> bool:
    """Build the index if it is not whole; whether it is. Another process may be building it, or
    have the store alone, and who may only read asks the one there is."""
    if store.index.is_complete:
        return True
    if store.db.is_read_only:
        return False
    try:
        reindex(store, on_session)
    except (IndexTaken, StoreBusy):
        return store.index.is_complete
    return True


def reindex(store: Store, on_session: Callable[[int, int], None] = nothing) -> int:
    """Read everything again; the number of sessions. ``on_session`` hears how far it is."""
    with store.db.operation_lock(shared=True):
        return _reindex(store, on_session)


def _reindex(store: Store, on_session: Callable[[int, int], None]) -> int:
    for attempt in range(1, ATTEMPTS + 1):
        # Whoever collects beside us can make the work be in vain, but not for ever.
        with store.transaction() if attempt == ATTEMPTS else nullcontext():
            building = _Building(store)
            sessions = store.sessions.revisions()
            for done, (session_id, known) in enumerate(sessions.items(), 1):
                building.add(session_id, known)
                on_session(done, len(sessions))
            if building.finish():
                break
    return len(sessions)


class _Building:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._name = secrets.token_hex(8)
        self._seen: dict[int, tuple[Known, array[int]]] = {}
        self._waiting: list[tuple[int, str]] = []
        self._size = 0
        with store.transaction():
            store.index.begin_next(self._name)

    def add(self, session_id: int, known: Known) -> None:
        with self._store.db.snapshot():
            docs = list(docs_of(self._store, session_id, known[0]))
        self._seen[session_id] = (known, array("q", (doc for doc, _ in docs)))
        self._waiting += docs
        self._size += sum(len(text) for _, text in docs)
        if self._size > GATHERED:
            with self._store.transaction():
                self._give()

    def _give(self) -> None:
        if not self._store.index.is_built_by(self._name):
            raise IndexTaken(self._store.db.name)
        docs, self._waiting, self._size = sorted(self._waiting), [], 0
        self._store.index.add_next(docs)

    def finish(self) -> bool:
        """Sessions that changed since they were read, and the swap, in one transaction.

        Not if what was read cannot be told apart any more: it has to be read again.
        """
        store = self._store
        with store.transaction():
            self._give()
            now = store.sessions.revisions()
            gone = store.retention.evicted_sessions()
            changed = [
                one
                for one, (known, docs) in self._seen.items()
                if now.get(one) != known or (docs and one in gone)
            ]
            if self._is_mixed_up(changed):
                return False
            for session_id in changed:
                store.index.drop_next(list(self._seen[session_id][1]))
            for session_id, known in now.items():
                if session_id not in self._seen or session_id in changed:
                    store.index.add_next(list(docs_of(store, session_id, known[0])))
            store.index.swap(store.sessions.titles())
        return True

    def _is_mixed_up(self, changed: list[int]) -> bool:
        """SQLite hands numbers of events that are gone out again: the same one may have been read
        for two sessions, of which the first was derived anew in between."""
        if not changed:
            return False
        every = [doc for _, docs in self._seen.values() for doc in docs]
        return len(set(every)) < len(every)


def docs_of(store: Store, session_id: int, uid: str) -> Iterator[tuple[int, str]]:
    """The session's events as the index knows them, with their texts, streamed from the raw."""
    waiting = store.events.docs_by_record(session_id)
    native = uid.partition(":")[2]
    for source in store.sources.read_by(session_id):
        if source.role not in LOGS:
            continue
        try:
            for record, block, body in bodies_in(store, source, native):
                doc = waiting.pop((record, block), None)
                if doc is not None:
                    yield doc, body.text
        except AdapterError as error:
            note_substitute(store, source.flavor, str(error))
    # Events in another session's source, and those that their adapter could not read.
    left = {event_of(doc): doc for doc in waiting.values()}
    bodies = Bodies(store)
    for hit in Hits(store.db, store.names).of(sorted(left)).values():
        yield left[hit.event_id], bodies.at(hit.source, hit.place, hit.length, hit.block).text
