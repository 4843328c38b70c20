"""Restore evicted sessions from the archive: raw byte for byte, events derived from it."""

from collections.abc import Iterator

import msgspec

from session_memory.config import Config
from session_memory.core.errors import ArchiveError, SessionEvicted, StoreDamaged, UnknownSession
from session_memory.derive.cluster_records import HELD_IN_MEMORY
from session_memory.derive.connected import grouped
from session_memory.derive.derivation import derive_stale
from session_memory.derive.evicted import (
    LoadedPacks,
    archive_of,
    archived_bytes,
    bring_back,
    family,
    load_archived,
)
from session_memory.retain.passes import DAY_MS
from session_memory.store.store import Store

AT_ONCE = 50
_UNREADABLE = (ArchiveError, SessionEvicted, StoreDamaged)


class RestoredSessions(msgspec.Struct, frozen=True):
    sessions: tuple[str, ...]
    bytes: int


class FailedRestore(msgspec.Struct, frozen=True):
    """Sessions that could not be restored, with the reason."""

    sessions: tuple[str, ...]
    reason: str


def restore(
    store: Store,
    config: Config,
    uids: list[str] | None,
    now: int,
    failed: list[FailedRestore] | None = None,
) -> list[RestoredSessions]:
    """Restore sessions with all that were evicted together with them. None restores all.

    They are pinned for as long as a new session stays. Otherwise the next run would evict them.
    With a list ``failed``, sessions that cannot be restored are added to it, and the others are
    restored. Without it, the error is raised.
    """
    with store.db.operation_lock(shared=False):
        return _restore(store, config, uids, now, failed)


def _restore(
    store: Store,
    config: Config,
    uids: list[str] | None,
    now: int,
    failed: list[FailedRestore] | None,
) -> list[RestoredSessions]:
    if uids is None:
        candidates = store.retention.candidates()
        uids = [one.uid for one in candidates if one.evicted_at is not None]
    archive = archive_of(store, config)
    restored = []
    for batch in _batches(store, _sharing(store, _families(store, uids))):
        try:
            # Many at once, because each call reads the archive files from their start.
            some = sorted({one for kin in batch for one in kin})
            is_small = archived_bytes(store, some) <= HELD_IN_MEMORY
            loaded = load_archived(store, archive, some) if is_small else None
            for kin in batch:
                restored.append(_bring_back(store, config, kin, now, loaded))
        except _UNREADABLE:
            if failed is None:
                raise
            restored += _one_by_one(store, config, batch, now, failed)
    return restored


def _sharing(store: Store, families: list[list[int]]) -> list[list[int]]:
    """The families, with those that share records as one. Restored one after the other, each would
    be derived again with the next."""
    groups = grouped(store, families)
    return [[one for number in group for one in families[number]] for group in groups]


def _batches(store: Store, families: list[list[int]]) -> Iterator[list[list[int]]]:
    """Some families at a time. Their packs fit into memory, or it is a single family."""
    batch: list[list[int]] = []
    size = 0
    for kin in families:
        own = sum(one.bytes for session in kin for one in store.retention.evicted_of(session))
        if batch and (len(batch) >= AT_ONCE or size + own > HELD_IN_MEMORY):
            yield batch
            batch, size = [], 0
        batch.append(kin)
        size += own
    if batch:
        yield batch


def _bring_back(
    store: Store, config: Config, kin: list[int], now: int, loaded: LoadedPacks | None = None
) -> RestoredSessions:
    """Restore one family in one transaction: nobody sees a session without its events."""
    names = [store.sessions.row_by_id(one).uid for one in sorted(kin)]
    with store.transaction():
        size = bring_back(store, archive_of(store, config), sorted(kin), loaded)
        derive_stale(store, now, config.domain_of)
        _pin(store, names, now, config.retention.raw_max_age_days)
    return RestoredSessions(tuple(names), size)


def _one_by_one(
    store: Store,
    config: Config,
    families: list[list[int]],
    now: int,
    failed: list[FailedRestore],
) -> list[RestoredSessions]:
    """Restore each family alone, past those whose archive is missing or damaged."""
    restored = []
    for kin in families:
        if store.sessions.row_by_id(kin[0]).evicted_at is None:
            # It was restored before the error.
            continue
        try:
            restored.append(_bring_back(store, config, kin, now))
        except _UNREADABLE as error:
            names = tuple(store.sessions.row_by_id(one).uid for one in kin)
            failed.append(FailedRestore(names, str(error)))
    return restored


def _families(store: Store, uids: list[str]) -> list[list[int]]:
    """For each evicted session, the sessions to restore with it. No session occurs twice."""
    families: list[list[int]] = []
    seen: set[int] = set()
    for uid in uids:
        row = store.sessions.row(uid)
        if row is None:
            raise UnknownSession(uid)
        if row.evicted_at is not None and row.id not in seen:
            families.append(family(store, row.id))
            seen.update(families[-1])
    return families


def _pin(store: Store, uids: list[str], now: int, days: float) -> None:
    pinned = store.retention.pins(now)
    for uid in uids:
        if uid not in pinned:
            store.retention.pin(uid, now, int(now + days * DAY_MS))
