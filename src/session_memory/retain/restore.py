"""Restore evicted sessions from the archive: their logs byte for byte, and their events."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from session_memory.config import Config
from session_memory.core.errors import ArchiveError, SessionEvicted, StoreDamaged, UnknownSession
from session_memory.derive.cluster_records import HELD_IN_MEMORY
from session_memory.derive.connected import grouped
from session_memory.derive.evicted import (
    LoadedPacks,
    archive_of,
    archived_bytes,
    bring_back,
    family,
    load_archived,
)
from session_memory.derive.stale_sessions import derive_stale
from session_memory.retain.passes import DAY_MS
from session_memory.store.pieces import end_of_piece
from session_memory.store.store import Store

AT_ONCE = 50
# After this many families that could not be derived alone, the rest of a group is restored at once.
MOST_TOGETHER = 3

Family = list[int]
"""Sessions that must be restored together."""

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
    """Restore sessions, and those that belong together with them. ``uids`` None: all evicted ones.

    Restored sessions are pinned for as many days as the age limit of retention, so that it does not
    evict them at once. With a list ``failed``, sessions that cannot be restored are added to it,
    and the others are restored. Without it, the error is raised.
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
    work = _Restoring(store, config, now)
    for batch in _batches(store, _sharing(store, _families(store, uids))):
        try:
            # Load many sessions at once, because each call reads archive files from their start.
            some = sorted({one for group in batch for kin in group for one in kin})
            is_small = archived_bytes(store, some) <= HELD_IN_MEMORY
            loaded = load_archived(store, archive, some) if is_small else None
            for group in batch:
                work.bring_back(group, loaded)
        except _UNREADABLE:
            if failed is None:
                raise
            _one_by_one(work, store, chain.from_iterable(batch), failed)
    return work.restored


def _sharing(store: Store, families: list[Family]) -> list[list[Family]]:
    """Group families that share records. In a group, origins come before their forks."""
    groups = [[families[number] for number in group] for group in grouped(store, families)]
    return [_origins_first(store, group) if len(group) > 1 else group for group in groups]


def _origins_first(store: Store, families: list[Family]) -> list[Family]:
    rows = {one: store.sessions.row_by_id(one) for kin in families for one in kin}
    parents = {row.uid: row.parent_uid for row in rows.values()}

    def depth(uid: str | None) -> int:
        above = 0
        while uid in parents and above < len(parents):
            above, uid = above + 1, parents[uid]
        return above

    return sorted(families, key=lambda kin: min(depth(rows[one].uid) for one in kin))


def _batches(store: Store, groups: list[list[Family]]) -> Iterator[list[list[Family]]]:
    """Yield some groups at a time, whose packs fit into memory, or a single larger group."""
    batch: list[list[Family]] = []
    size = 0
    for group in groups:
        every = (session for kin in group for session in kin)
        own = sum(one.bytes for session in every for one in store.retention.evicted_of(session))
        if batch and (len(batch) >= AT_ONCE or size + own > HELD_IN_MEMORY):
            yield batch
            batch, size = [], 0
        batch.append(group)
        size += own
    if batch:
        yield batch


class _Restoring:
    """Restores families: their logs, the events that are derived from these, and a pin."""

    def __init__(self, store: Store, config: Config, now: int) -> None:
        self.restored: list[RestoredSessions] = []
        self._store = store
        self._config = config
        self._now = now

    def bring_back(self, group: list[Family], loaded: LoadedPacks | None = None) -> None:
        """Restore families that share records, in short transactions.

        Each transaction restores logs and derives their events. A fork is restored after its
        origin, and usually no other session has to be derived with it. If several forks need that,
        the rest is restored at once: otherwise each fork would be derived again with the next one.
        """
        waiting, together = deque(group), 0
        names: list[str] = []
        size = 0
        try:
            while waiting:
                with self._store.transaction():
                    until = end_of_piece()
                    back: list[RestoredSessions] = []
                    while waiting and (not back or time.monotonic() < until):
                        rest = 1 if together < MOST_TOGETHER else len(waiting)
                        kin = sorted(one for _ in range(rest) for one in waiting.popleft())
                        back.append(self._bring_back(kin, loaded))
                        together += self._derive() > len(kin)
                names += [uid for one in back for uid in one.sessions]
                size += sum(one.bytes for one in back)
        finally:
            if names:
                self.restored.append(RestoredSessions(tuple(sorted(names)), size))

    def _bring_back(self, kin: Family, loaded: LoadedPacks | None) -> RestoredSessions:
        """Restore the logs of sessions, and pin the sessions. `_derive` then makes their events."""
        store, limits = self._store, self._config.retention
        names = [store.sessions.row_by_id(one).uid for one in kin]
        size = bring_back(store, archive_of(store, self._config), kin, loaded)
        for uid in names:
            if not store.retention.is_pinned(uid, self._now):
                until = int(self._now + limits.raw_max_age_days * DAY_MS)
                store.retention.pin(uid, self._now, until)
        return RestoredSessions(tuple(names), size)

    def _derive(self) -> int:
        return derive_stale(self._store, self._now, self._config.domain_of)


def _one_by_one(
    work: _Restoring, store: Store, families: Iterable[Family], failed: list[FailedRestore]
) -> None:
    """Restore each family alone. A family that cannot be read is added to ``failed``."""
    for kin in families:
        if store.sessions.row_by_id(kin[0]).evicted_at is None:
            # It was restored before the error.
            continue
        try:
            work.bring_back([kin])
        except _UNREADABLE as error:
            names = tuple(store.sessions.row_by_id(one).uid for one in kin)
            failed.append(FailedRestore(names, str(error)))


def _families(store: Store, uids: list[str]) -> list[Family]:
    """Return, for each evicted session, the sessions to restore together. Each session is once."""
    families: list[Family] = []
    seen: set[int] = set()
    for uid in uids:
        row = store.sessions.row(uid)
        if row is None:
            raise UnknownSession(uid)
        if row.evicted_at is not None and row.id not in seen:
            families.append(family(store, row.id))
            seen.update(families[-1])
    return families
