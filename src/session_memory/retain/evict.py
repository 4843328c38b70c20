"""Evict sessions: write their logs to the archive, verify that file, then delete from the store.

If the process is killed, the logs of every session are still in the store or in a verified archive,
unless the user wants no archive.
"""

from collections.abc import Iterator
from hashlib import sha256

import msgspec

from session_memory.core.errors import ArchiveError
from session_memory.core.ids import split_uid
from session_memory.derive.connected import connected_to, grouped
from session_memory.derive.live_archived import stored_packs
from session_memory.derive.live_sources import is_table
from session_memory.derive.repository_names import DomainOf
from session_memory.derive.stale_sessions import derive_stale
from session_memory.retain.passes import DATA_LOSS, PlannedEviction
from session_memory.retain.units import Unit, is_analyzed
from session_memory.store.live_closed import lock_closed
from session_memory.store.pieces import write_in_pieces
from session_memory.store.raw import Pack
from session_memory.store.retention import EvictedSource
from session_memory.store.retention_archive import (
    Archive,
    ArchiveContents,
    ArchivedPack,
    ArchivedSource,
)
from session_memory.store.retention_forget import delete_live, live_holders
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

FILE_BYTES = 256 * 1024 * 1024

Evicted = tuple[PlannedEviction, int]
"""An eviction that was done, and the bytes that it freed."""


class SafeCopy(msgspec.Struct, frozen=True):
    """The archive file with the bytes of a source; None if no archive is wanted.

    ``digest`` is the hash of the bytes, ``places`` the offset and hash of each pack.
    """

    file: str | None
    digest: str
    places: list[tuple[int, bytes]]


def evict(
    store: Store,
    archive: Archive | None,
    steps: list[PlannedEviction],
    now: int,
    domain_of: DomainOf,
) -> Iterator[Evicted]:
    """Evict the planned units, and yield each with its freed bytes.

    Without an ``archive`` the logs are deleted for good. A unit that changed since it was planned
    stays in the store and is not yielded.
    """
    for batch in _batches(steps):
        safe = _archived(store, archive, [step.unit for step in batch], now)
        for together in _sharing(store, batch):
            yield from _evict_group(store, together, safe, now, domain_of)


def _evict_group(
    store: Store,
    steps: list[PlannedEviction],
    safe: dict[int, SafeCopy],
    now: int,
    domain_of: DomainOf,
) -> list[Evicted]:
    """Evict units that share records.

    Units that own no shared event, such as most forks, go first, in short transactions, because
    that changes no other session. The others follow in one transaction.
    """
    sessions = [one for step in steps for one in step.unit.sessions]
    others = set(connected_to(store, sessions)).difference(sessions)
    owning, inheriting = _by_ownership(store, steps) if len(steps) > 1 else (steps, [])
    gone: list[Evicted] = []
    write_in_pieces(
        store.transaction,
        inheriting,
        lambda step: gone.extend(_drop(store, [step], safe, now)),
    )
    with store.transaction():
        gone += _drop(store, owning, safe, now)
        for other in others if gone else ():
            # The log of this session also has the events that it shared with an evicted one.
            # The session may become their owner.
            store.sessions.mark_stale(other)
        derive_stale(store, now, domain_of)
    return gone


def _by_ownership(
    store: Store, steps: list[PlannedEviction]
) -> tuple[list[PlannedEviction], list[PlannedEviction]]:
    """Split the steps into those whose events other sessions inherit, and all others."""
    owning: list[PlannedEviction] = []
    inheriting: list[PlannedEviction] = []
    for step in steps:
        is_owner = any(map(store.events.are_inherited, step.unit.sessions))
        (owning if is_owner else inheriting).append(step)
    return owning, inheriting


def _batches(steps: list[PlannedEviction]) -> Iterator[list[PlannedEviction]]:
    """Split the steps into batches, each for one archive file."""
    batch: list[PlannedEviction] = []
    size = 0
    for step in steps:
        batch.append(step)
        size += step.unit.bytes
        if size >= FILE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _sharing(store: Store, steps: list[PlannedEviction]) -> list[list[PlannedEviction]]:
    """Group units that share records. Units that own shared records are evicted together.

    If they were evicted one by one, a session of the group would become the owner of a shared
    record and be derived again, only to be evicted next.
    """
    groups = grouped(store, [step.unit.sessions for step in steps])
    return [[steps[number] for number in group] for group in groups]


def _archived(
    store: Store, archive: Archive | None, units: list[Unit], now: int
) -> dict[int, SafeCopy]:
    """Write the sources of the units to the archive, unless a verified file holds them already."""
    names: dict[int, str] = {}
    held = {source: _described(store, source, names) for unit in units for source in unit.sources}
    if archive is None:
        return {source: SafeCopy(None, one.digest, one.places) for source, one in held.items()}
    with archive.writing():
        safe = _in_earlier_files(archive, held)
        new = {source: one for source, one in held.items() if source not in safe}
        if new:
            file = archive.write(_contents(store, new), now)
            for source, one in new.items():
                safe[source] = SafeCopy(file.name, one.digest, one.places)
    return safe


def _in_earlier_files(archive: Archive, held: dict[int, ArchivedSource]) -> dict[int, SafeCopy]:
    """Find sources that are archived already, by a killed run or an eviction before a restore."""
    copies: dict[int, SafeCopy] = {}
    known, sound = archive.holding(), {}
    for source, one in held.items():
        for file, before in known.get(one.source.uid, ()):
            if before.places == one.places and before.digest == one.digest:
                if file not in sound:
                    sound[file] = not archive.check(file)
                if sound[file]:
                    copies[source] = SafeCopy(file.name, one.digest, one.places)
    return copies


def _described(store: Store, source_id: int, names: dict[int, str]) -> ArchivedSource:
    """Describe a source and its packs for the archive. Raises if a pack is damaged.

    ``names`` is filled with the hash of each dictionary by its id, when a pack has a dictionary.
    """
    digest, packs = sha256(), []
    row = store.sources.get(source_id)
    for pack in stored_packs(store, row):
        digest.update(_unpacked(store, row, pack))
        if pack.dictionary_id is not None and not names:
            names |= {
                number: sha256(body).hexdigest()
                for number, _, body in store.retention.dictionaries()
            }
        name = None if pack.dictionary_id is None else names[pack.dictionary_id]
        size = len(pack.body)
        packs.append(ArchivedPack(pack.start, pack.length, pack.hash.hex(), size, name))
    rows = [store.sessions.row_by_id(one) for one in store.sessions.of_source(source_id)]
    uids = sorted(row.uid for row in rows)
    return ArchivedSource(row, digest.hexdigest(), packs, uids)


def _unpacked(store: Store, row: SourceRow, pack: Pack) -> bytes:
    return zstd.decompress(pack.body) if is_table(row) else store.raw.unpacked(row.id, pack)


def _contents(store: Store, held: dict[int, ArchivedSource]) -> ArchiveContents:
    used = {pack.dictionary for one in held.values() for pack in one.packs}
    dictionaries = {
        name: (flavor, body)
        for _, flavor, body in store.retention.dictionaries()
        if (name := sha256(body).hexdigest()) in used
    }

    def bodies() -> Iterator[bytes]:
        return (
            bytes(pack.body) for one in held.values() for pack in stored_packs(store, one.source)
        )

    return ArchiveContents(list(held.values()), dictionaries, bodies)


def _drop(
    store: Store, steps: list[PlannedEviction], safe: dict[int, SafeCopy], now: int
) -> list[Evicted]:
    """Delete units from the store, inside a transaction. Changed units stay."""
    pinned = set(store.retention.pins(now))
    steps = [step for step in steps if _is_as_planned(store, step, safe, pinned)]
    sessions = {one for step in steps for one in step.unit.sessions}
    gone = []
    for step in steps:
        sizes = {source: _size(store, source) for source in step.unit.sources}
        for source, size in sizes.items():
            kept = safe[source]
            store.retention.drop_raw(EvictedSource(source, kept.file, kept.digest, size, now))
        for session in step.unit.sessions:
            store.events.drop(session)
        if step.unit.live_revision is None:
            gone.append((step, sum(sizes.values())))
        else:
            delete_live(store.db, [split_uid(uid)[1] for uid in step.unit.uids])
            gone.append((step, step.unit.bytes))
    store.retention.freeze(sorted(sessions), now)
    return gone


def _is_as_planned(
    store: Store, step: PlannedEviction, safe: dict[int, SafeCopy], pinned: set[str]
) -> bool:
    unit = step.unit
    if unit.live_revision is not None and not _is_free(store, unit):
        return False
    if any(safe[one].places != _places(store, one) for one in unit.sources):
        return False
    for session, revision in zip(unit.sessions, unit.revisions, strict=True):
        row = store.sessions.row_by_id(session)
        if row.revision != revision or row.evicted_at is not None or row.uid in pinned:
            return False
        if not (is_analyzed(row) or step.why == DATA_LOSS):
            return False
        if not set(store.sessions.source_ids(session)) <= set(unit.sources):
            return False
    shared = {one for source in unit.sources for one in store.sessions.of_source(source)}
    return shared <= set(unit.sessions)


def _is_free(store: Store, unit: Unit) -> bool:
    """Lock a closed live session. False if it was reopened, changed or forked since the plan."""
    natives = [split_uid(uid)[1] for uid in unit.uids]
    locked = all(lock_closed(store.db, one, unit.live_revision or 0) for one in natives)
    return locked and not any(live_holders(store.db, one) for one in natives)


def _size(store: Store, source_id: int) -> int:
    return sum(len(pack.body) for pack in stored_packs(store, store.sources.get(source_id)))


def _places(store: Store, source_id: int) -> list[tuple[int, bytes]]:
    row = store.sources.get(source_id)
    if not is_table(row):
        return store.retention.places(source_id)
    return [(pack.start, pack.hash) for pack in stored_packs(store, row)]


def require_archive(archive: Archive | None) -> Archive:
    """Return the archive. Raises if the store has none."""
    if archive is None:
        hint = 'Set one in the configuration: [retention] archive_dir = "/some/directory"'
        raise ArchiveError("a store in memory has no place for an archive", hint)
    return archive
