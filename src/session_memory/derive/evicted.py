"""Bring evicted sessions back: put their logs back from the archive, and derive their events.

A session that grows while it is evicted is brought back first. If its archive is missing, the new
part of the log is stored without deriving events. Nothing is derived from half of a session.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from session_memory.config import Config, home
from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.derive.facts import base_of
from session_memory.store.address import is_postgres
from session_memory.store.raw import Pack
from session_memory.store.retention import EvictedSource
from session_memory.store.retention_archive import Archive
from session_memory.store.store import Store


def archive_of(store: Store, config: Config) -> Archive | None:
    """The archive of a store's evicted logs; None for a store in memory without a setting."""
    if config.retention.archive_dir:
        return Archive(Path(config.retention.archive_dir).expanduser())
    place = beside(store)
    return None if place is None else Archive(place / "archive" / _stem(store))


def beside(store: Store) -> Path | None:
    """The directory for files that belong to a store; None for a store in memory."""
    if is_postgres(store.db.name):
        return home() / ".session-memory"
    return None if store.db.file is None else store.db.file.parent


def _stem(store: Store) -> str:
    if store.db.file is not None:
        return store.db.file.stem
    # Each schema of a server is a store. The address names it, and may hold a password, so its
    # hash is used.
    address = getattr(store.db, "url", store.db.name)
    return f"postgresql-{sha256(address.encode()).hexdigest()[:12]}"


def family(store: Store, session_id: int) -> list[int]:
    """The evicted sessions that must come back together with this one.

    These are sessions from the same sources, its parent and its subagents, and the session whose
    history it begins with by reference.
    """
    found, waiting = {session_id}, [session_id]
    while waiting:
        for other in _relatives(store, waiting.pop()):
            if other not in found and store.sessions.row_by_id(other).evicted_at is not None:
                found.add(other)
                waiting.append(other)
    return sorted(found)


def _relatives(store: Store, session_id: int) -> Iterator[int]:
    sessions, row = store.sessions, store.sessions.row_by_id(session_id)
    for source_id in sessions.source_ids(session_id):
        yield from sessions.of_source(source_id)
    base = base_of(row)
    near = [*sessions.subagents(row.uid), *([] if base is None else [base[0]])]
    if row.relation == "subagent" and row.parent_uid is not None:
        near.append(row.parent_uid)
    for uid in near:
        other = sessions.row(uid)
        if other is not None:
            yield other.id


def bring_back(store: Store, archive: Archive | None, session_ids: list[int]) -> int:
    """Put the logs of evicted sessions back, inside a transaction. Returns the size of their packs.

    The sessions are stale then, and the caller must derive them.
    """
    evicted = {s.source_id: s for one in session_ids for s in store.retention.evicted_of(one)}
    size = 0
    by_file: dict[str, list[EvictedSource]] = {}
    for source in evicted.values():
        if source.file is None:
            raise SessionEvicted(_uid(store, session_ids[0]), None)
        by_file.setdefault(source.file, []).append(source)
    for name, sources in sorted(by_file.items()):
        size += _put_back(store, archive, name, sources)
    for session_id in session_ids:
        store.retention.unfreeze(session_id)
    return size


def _uid(store: Store, session_id: int) -> str:
    return store.sessions.row_by_id(session_id).uid


def _put_back(
    store: Store, archive: Archive | None, name: str, sources: list[EvictedSource]
) -> int:
    if archive is None:
        raise ArchiveError(f"the archive file {name} cannot be read: there is no archive directory")
    rows = {store.sources.get(source.source_id).uid: source for source in sources}
    flavors = {uid: store.sources.get(source.source_id).flavor for uid, source in rows.items()}
    kept = {uid: store.sources.get(source.source_id).kept for uid, source in rows.items()}
    # The packs from this offset on came after the eviction and are in the store.
    first = {uid: store.retention.evicted_up_to(s.source_id, kept[uid]) for uid, s in rows.items()}
    size, seen = 0, dict.fromkeys(rows, 0)
    for uid, pack, dictionary in archive.read(archive.path(name), set(rows)):
        if pack.start >= first[uid]:
            continue
        number = store.retention.dictionary(flavors[uid], dictionary) if dictionary else None
        back = Pack(pack.start, pack.length, pack.hash, number, pack.body)
        store.retention.put_back(rows[uid].source_id, [back])
        seen[uid] += pack.length
        size += len(pack.body)
    for uid, source in rows.items():
        if seen[uid] != first[uid]:
            raise ArchiveError(f"the archive file {name} does not hold all of source {uid}")
        # A source without a byte has no packs, so it is marked here.
        store.retention.put_back(source.source_id, ())
    return size
