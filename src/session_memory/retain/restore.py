"""Restore evicted sessions from the archive: raw byte for byte, events derived from it."""

import msgspec

from session_memory.config import Config
from session_memory.core.errors import ArchiveError, SessionEvicted, StoreDamaged, UnknownSession
from session_memory.derive.derivation import derive_stale
from session_memory.derive.evicted import archive_of, bring_back, family
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
    families = _families(store, uids)
    restored = []
    for first in range(0, len(families), AT_ONCE):
        # Many at once, because each call reads the archive files from their start.
        batch = families[first : first + AT_ONCE]
        try:
            restored.append(_bring_back(store, config, batch, now))
        except _UNREADABLE:
            if failed is None:
                raise
            restored += _one_by_one(store, config, batch, now, failed)
    return restored


def _bring_back(
    store: Store, config: Config, families: list[list[int]], now: int
) -> RestoredSessions:
    some = sorted({one for kin in families for one in kin})
    names = [store.sessions.row_by_id(one).uid for one in some]
    with store.transaction():
        size = bring_back(store, archive_of(store, config), some)
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
        try:
            restored.append(_bring_back(store, config, [kin], now))
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
