"""Evicted sessions back in the store: their raw byte for byte, their events derived from it."""

import msgspec

from session_memory.config import Config
from session_memory.core.errors import UnknownSession
from session_memory.derive.derivation import derive_stale
from session_memory.derive.evicted import archive_of, bring_back, family
from session_memory.retain.passes import DAY_MS
from session_memory.store.store import Store

AT_ONCE = 50


class RestoredSessions(msgspec.Struct, frozen=True):
    sessions: tuple[str, ...]
    bytes: int


def restore(
    store: Store, config: Config, uids: list[str] | None, now: int
) -> list[RestoredSessions]:
    """Bring sessions back, with all that went together with them; all when ``uids`` is None.

    They stay for as long as a new session would: else the next run would evict them again.
    """
    with store.db.operation_lock(shared=False):
        return _restore(store, config, uids, now)


def _restore(
    store: Store, config: Config, uids: list[str] | None, now: int
) -> list[RestoredSessions]:
    if uids is None:
        candidates = store.retention.candidates()
        uids = [one.uid for one in candidates if one.evicted_at is not None]
    families = _families(store, uids)
    restored = []
    for first in range(0, len(families), AT_ONCE):
        # Some at a time: the files of the archive are read from the beginning each time.
        some = sorted({one for kin in families[first : first + AT_ONCE] for one in kin})
        names = [store.sessions.row_by_id(one).uid for one in some]
        with store.transaction():
            size = bring_back(store, archive_of(store, config), some)
            derive_stale(store, now, config.domain_of)
            _let_stay(store, names, now, config.retention.raw_max_age_days)
        restored.append(RestoredSessions(tuple(names), size))
    return restored


def _families(store: Store, uids: list[str]) -> list[list[int]]:
    """Each session that is evicted with those it comes back with, each of them once."""
    found: list[list[int]] = []
    seen: set[int] = set()
    for uid in uids:
        row = store.sessions.row(uid)
        if row is None:
            raise UnknownSession(uid)
        if row.evicted_at is not None and row.id not in seen:
            found.append(family(store, row.id))
            seen.update(found[-1])
    return found


def _let_stay(store: Store, uids: list[str], now: int, days: float) -> None:
    pinned = store.retention.pins(now)
    for uid in uids:
        if uid not in pinned:
            store.retention.pin(uid, now, int(now + days * DAY_MS))
