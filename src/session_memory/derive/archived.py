"""Read evicted sessions from the archive, without restoring them.

The logs of the session and of those evicted with it are put into a store in memory, and derived
there. Nothing is written to the user's store.
"""

from session_memory.core.errors import ArchiveError, SessionEvicted, StoreDamaged
from session_memory.core.time import now_ms
from session_memory.derive.evicted import LoadedPacks, archive_at, family, load_archived
from session_memory.derive.live_archived import load_rows
from session_memory.derive.live_sources import is_table
from session_memory.store.memory_store import temporary_store
from session_memory.store.raw import Pack
from session_memory.store.store import Store

# The most compressed bytes of a session that is held in memory. A larger one must be restored.
LARGEST = 64 * 1024 * 1024
# The number of stores in memory that are kept for later reads.
KEPT = 4
_UNREADABLE = (ArchiveError, SessionEvicted, StoreDamaged)


def readable_store(store: Store, uid: str) -> Store:
    """The store to read the events of a session from: for an evicted one, a copy in memory.

    Raises `ArchiveError` or `SessionEvicted` if the session was evicted and its archive cannot be
    read. Everything else (its row, cost, digest, relatives) is in the user's own store.
    """
    row = store.sessions.row(uid)
    if row is None or row.evicted_at is None:
        return store
    for number, (members, copy) in enumerate(store.read_from_archive):
        if (row.id, row.evicted_at) in members:
            store.read_from_archive.append(store.read_from_archive.pop(number))
            return copy
    together = family(store, row.id)
    try:
        copy = _copy(store, together)
    except ArchiveError as error:
        message = f"session {uid} was evicted, and its archive cannot be read: {error}"
        raise ArchiveError(message, error.hint) from error
    members = {(one, store.sessions.row_by_id(one).evicted_at) for one in together}
    # The oldest copy is dropped from the list, not closed: a caller may still read it.
    store.read_from_archive[:] = [*store.read_from_archive, (members, copy)][-KEPT:]
    return copy


def unreadable_reason(store: Store, uid: str) -> ArchiveError | SessionEvicted | None:
    """Why the events of a session cannot be read; None if they can."""
    try:
        readable_store(store, uid)
    except (ArchiveError, SessionEvicted) as error:
        return error
    return None


def _copy(store: Store, together: list[int]) -> Store:
    # Importing it takes long, and most sessions are not evicted.
    from session_memory.derive.rebuilding import rebuild  # noqa: PLC0415

    archive = archive_at(store, store.archive_dir() if store.archive_dir else "")
    loaded = load_archived(store, archive, together, most=LARGEST)
    copy = temporary_store()
    for session_id in together:
        for source_id in store.sessions.source_ids(session_id):
            _adopt(store, source_id, copy, loaded)
    for source_id in loaded:
        _adopt(store, source_id, copy, loaded)
    for session_id in _ancestors(store, together):
        try:
            mine = load_archived(store, archive, [session_id], most=LARGEST)
            for source_id in (*store.sessions.source_ids(session_id), *mine):
                _adopt(store, source_id, copy, mine)
        except _UNREADABLE:
            # The logs of this ancestor cannot be read. Events that a fork copied from the ancestor
            # are shown as the fork's own.
            continue
    rebuild(copy, now_ms(), lambda repo, cwd: None, lambda source: None)
    return copy


def _ancestors(store: Store, sessions: list[int]) -> list[int]:
    """The parents of these sessions, and the parents' parents. They own the history that forks and
    resumed sessions copied."""
    found: dict[int, None] = {}
    for session_id in sessions:
        above = store.sessions.row_by_id(session_id).parent_uid
        while above is not None:
            row = store.sessions.row(above)
            if row is None or row.id in found or row.id in sessions:
                break
            found[row.id] = None
            above = row.parent_uid
    return list(found)


def _adopt(store: Store, source_id: int, copy: Store, loaded: LoadedPacks) -> None:
    """Copy a source: its evicted packs from the archive, the others from the store."""
    row = store.sources.get(source_id)
    if copy.sources.by_uid(row.uid) is not None:
        return
    row.id = 0
    row.adapter_version = max(row.adapter_version, 0)
    known = {number: body for number, _, body in store.retention.dictionaries()}
    packs = list(loaded.get(source_id, ()))
    for pack in store.raw.packs(source_id):
        body = b"" if pack.dictionary_id is None else known[pack.dictionary_id]
        packs.append((pack, body))
    with copy.transaction():
        copy.sources.save(row)
        if is_table(row):
            load_rows(copy, packs)
            return
        for pack, dictionary in packs:
            number = copy.retention.dictionary(row.flavor, dictionary) if dictionary else None
            back = Pack(pack.start, pack.length, pack.hash, number, bytes(pack.body))
            copy.retention.put_back(row.id, [back])
