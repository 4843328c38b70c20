"""List the files of all sessions from counts that are saved in the store.

Only sessions that changed since the counts were saved are read. A small store has no saved counts.
"""

import time
from functools import cache
from hashlib import blake2b
from pathlib import Path

from session_memory import __version__
from session_memory.core.errors import StoreBusy
from session_memory.core.time import now_ms
from session_memory.pricing import figure_sets
from session_memory.store import Store
from session_memory.store.figure_marks import FILES
from session_memory.store.figures import FigureSet
from session_memory.store.pieces import end_of_piece
from session_memory.store.session_files import COUNTS, KeptFile, SessionFiles
from session_memory.views.files import FileList, FilesByName, TouchedFile, count_files, listing

_PIECE = 500
# A store with few sessions has saved counts, too, if it has this many events: without saved counts,
# every call has to be counted again.
LEAST_EVENTS = 5_000
# To read a changed session takes milliseconds. If more sessions than this changed, the counts of
# these sessions are saved again.
FEW_CHANGED = 10
_SOURCES = ("files.py", "calls.py", "paths.py")


def all_files(store: Store, *, sort: str, limit: int) -> FileList | None:
    """Return the files of all sessions from saved counts; None if there are no counts to use."""
    if not _keep(store):
        return None
    with store.db.snapshot():
        known = _figure_set(store)
        few = _few()
        changed = [] if known is None else store.figures.marked(known.id, few + 1)
        if known is None or len(changed) > few:
            return None
        counted: FilesByName = {}
        for one in SessionFiles(store.db).totals(known.id, changed):
            file = counted[one.repo, one.path] = TouchedFile()
            file.last_at = one.last_at
            file.calls.update(dict(zip(COUNTS, one.counts, strict=True)))
            file.calls["sessions"] = one.sessions
        _read(store, changed, counted)
        evicted = store.retention.count_evicted()
        return listing(counted, sort, limit, store.sessions.count() - evicted, evicted)


def _keep(store: Store) -> bool:
    """Save the counts of all sessions, or those of changed sessions if many changed.

    Returns False if the store cannot be written now, or is too small to be worth it.
    """
    db = store.db
    if db.in_transaction or db.is_read_only or _is_small(store):
        return False
    try:
        known = _figure_set(store)
        if known is None:
            with db.transaction():
                known = _figure_set(store) or store.figures.add_set(FILES, _version(), now_ms())
        if len(store.figures.marked(known.id, _few() + 1)) > _few():
            _write(store, known)
    except StoreBusy:
        # Another process writes for a long time, so the counts are not saved now.
        return False
    return True


def _is_small(store: Store) -> bool:
    if store.sessions.count() >= figure_sets.LEAST_SESSIONS:
        return False
    return store.events.highest_id() < LEAST_EVENTS


def _few() -> int:
    return min(figure_sets.FEW_MARKS, FEW_CHANGED)


def _figure_set(store: Store) -> FigureSet | None:
    wanted = FILES, _version()
    return next((one for one in store.figures.sets() if (one.prices, one.zone) == wanted), None)


def _write(store: Store, known: FigureSet) -> None:
    kept = SessionFiles(store.db)
    while store.figures.marked(known.id, 1):
        with store.db.transaction():
            until = end_of_piece()
            done, found = [], []
            for session_id in store.figures.marked(known.id, _PIECE):
                counted: FilesByName = {}
                _read(store, [session_id], counted)
                found += [(session_id, _counts(*name, one)) for name, one in counted.items()]
                done.append(session_id)
                if time.monotonic() >= until:
                    break
            kept.replace(known.id, done, found)


def _counts(repo: str | None, path: str, file: TouchedFile) -> KeptFile:
    return KeptFile(repo, path, tuple(file.calls[name] for name in COUNTS), file.last_at)


def _read(store: Store, ids: list[int], counted: FilesByName) -> None:
    for one in store.figures.sessions(ids):
        session = store.sessions.get(one.uid)
        if session is not None and session.evicted_at is None:
            count_files(store, session, counted)


@cache
def _version() -> str:
    """Return a hash of the code that counts files. Counts of other code are not used."""
    digest = blake2b(__version__.encode(), digest_size=8)
    for name in _SOURCES:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()
