"""Bring evicted sessions back: put their logs back from the archive, and derive their events.

A session that grows while it is evicted is brought back first. If its archive is missing, the new
part of the log is stored without deriving events. Nothing is derived from half of a session.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from session_memory.config import Config
from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.derive.facts import base_of
from session_memory.derive.files_beside import beside, store_stem
from session_memory.derive.live_archived import load_rows
from session_memory.derive.live_sources import is_table
from session_memory.store.raw import Pack
from session_memory.store.retention import EvictedSource
from session_memory.store.retention_archive import Archive
from session_memory.store.store import Store

LoadedPacks = dict[int, list[tuple[Pack, bytes]]]
"""Source id → its packs, each with its dictionary."""


def archive_of(store: Store, config: Config) -> Archive | None:
    """The archive of a store's evicted logs; None for a store in memory if no directory for the
    archive is configured."""
    return archive_at(store, config.retention.archive_dir)


def archive_at(store: Store, directory: str) -> Archive | None:
    """The archive in ``directory``. If that is "", the archive beside the store; None for a store
    in memory."""
    if directory:
        return Archive(Path(directory).expanduser())
    place = beside(store)
    return None if place is None else Archive(place / "archive" / store_stem(store))


def family(store: Store, session_id: int) -> list[int]:
    """The evicted sessions that must come back together with this one.

    These are the sessions from the same sources, its subagents, its parent if it is a subagent, and
    the session whose history it begins with by reference.
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


def bring_back(
    store: Store,
    archive: Archive | None,
    session_ids: list[int],
    loaded: LoadedPacks | None = None,
) -> int:
    """Put the logs of evicted sessions back, inside a transaction. Returns the size of their packs.

    Afterwards the sessions are stale, and the caller must derive them. The packs may be ``loaded``
    already.
    """
    evicted = _evicted_sources(store, session_ids)
    packs = (
        _archived(store, archive, evicted)
        if loaded is None
        else ((source, *pack) for source in evicted for pack in loaded[source])
    )
    size, live = 0, _live_tables(store, evicted)
    for source_id, pack, dictionary in packs:
        if source_id in live:
            live[source_id].append((pack, dictionary))
            size += len(pack.body)
            continue
        flavor = store.sources.get(source_id).flavor
        number = store.retention.dictionary(flavor, dictionary) if dictionary else None
        back = Pack(pack.start, pack.length, pack.hash, number, pack.body)
        store.retention.put_back(source_id, [back])
        size += len(pack.body)
    for bundle in live.values():
        load_rows(store, bundle)
    for source_id in evicted:
        # An empty source has no packs. It is marked as put back here.
        store.retention.put_back(source_id, ())
    for session_id in session_ids:
        store.retention.unfreeze(session_id)
    return size


def _live_tables(store: Store, evicted: Iterable[int]) -> LoadedPacks:
    """The evicted sources that are rows of live sessions, each with an empty list."""
    return {source: [] for source in evicted if is_table(store.sources.get(source))}


def load_archived(
    store: Store, archive: Archive | None, session_ids: list[int], *, most: int | None = None
) -> LoadedPacks:
    """Read the packs of evicted sessions from the archive. Needs no transaction.

    Raises `ArchiveError` if they have more than ``most`` bytes.
    """
    evicted = _evicted_sources(store, session_ids)
    if most is not None and sum(source.bytes for source in evicted.values()) > most:
        uid = _uid(store, session_ids[0])
        hint = f"Restore it with: session-memory restore {uid}"
        raise ArchiveError("it is too large to be read without restoring it", hint)
    loaded: LoadedPacks = {source: [] for source in evicted}
    for source, pack, dictionary in _archived(store, archive, evicted):
        loaded[source].append((pack, dictionary))
    return loaded


def archived_bytes(store: Store, session_ids: list[int]) -> int:
    """The size of the packs of evicted sessions in the archive."""
    return sum(source.bytes for source in _evicted_sources(store, session_ids).values())


def _evicted_sources(store: Store, session_ids: list[int]) -> dict[int, EvictedSource]:
    evicted = {s.source_id: s for one in session_ids for s in store.retention.evicted_of(one)}
    if any(source.file is None for source in evicted.values()):
        raise SessionEvicted(_uid(store, session_ids[0]), None)
    return evicted


def _uid(store: Store, session_id: int) -> str:
    return store.sessions.row_by_id(session_id).uid


def _archived(
    store: Store, archive: Archive | None, evicted: dict[int, EvictedSource]
) -> Iterator[tuple[int, Pack, bytes]]:
    """``(source id, pack, dictionary)`` of all packs of evicted sources, file by file."""
    by_file: dict[str, list[EvictedSource]] = {}
    for source in evicted.values():
        by_file.setdefault(source.file or "", []).append(source)
    for name, sources in sorted(by_file.items()):
        yield from _in_file(store, archive, name, sources)


def _in_file(
    store: Store, archive: Archive | None, name: str, sources: list[EvictedSource]
) -> Iterator[tuple[int, Pack, bytes]]:
    if archive is None:
        raise ArchiveError(f"the archive file {name} cannot be read: there is no archive directory")
    rows = {row.uid: row for row in (store.sources.get(source.source_id) for source in sources)}
    # The packs from this offset on came after the eviction and are in the store.
    first = {uid: store.retention.evicted_up_to(row.id, row.kept) for uid, row in rows.items()}
    seen = dict.fromkeys(rows, 0)
    for uid, pack, dictionary in archive.read(archive.path(name), set(rows)):
        if pack.start < first[uid] or is_table(rows[uid]):
            seen[uid] += pack.length
            yield rows[uid].id, pack, dictionary
    for uid, end in first.items():
        if seen[uid] != end and not is_table(rows[uid]):
            raise ArchiveError(f"the archive file {name} does not hold all of source {uid}")
