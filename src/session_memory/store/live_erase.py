"""Erase live sessions: their rows, and what was collected from them.

Collected sessions that are related to an erased one are marked as stale, and the next sync derives
them again. The erased texts stay in free pages until later rows overwrite them, or until a
``forget`` or a ``store compact`` clears them.
"""

from collections.abc import Collection

from session_memory.core.ids import make_uid
from session_memory.store.database import Database
from session_memory.store.live_imports import LiveImports
from session_memory.store.retention import UNSWEPT
from session_memory.store.retention_forget import delete_live, delete_sessions
from session_memory.store.store import Store

LIVE = "live"
# The host of a live session: its rows are in the store, so they belong to no machine.
_NOWHERE = ""
_UNNAME = tuple(
    f"update live_sessions set {name} = null, revision = revision + 1 where {name} = :session"
    for name in ("parent_session_id", "detached_from", "forked_from")
)


def erase_live(store: Store, natives: Collection[str], now: int) -> None:
    """Erase live sessions, inside a transaction. No other session may continue their messages."""
    for native in natives:
        _drop_collected(store, native)
        for statement in _UNNAME:
            store.db.execute(statement, {"session": native})
    delete_live(store.db, natives)
    store.retention.add_tombstone(UNSWEPT, UNSWEPT, now, UNSWEPT)


def is_pinned(db: Database, native: str, now: int) -> bool:
    """Whether a person pinned a live session. A restored session's temporary pin does not count."""
    return Store(db).retention.pins(now).get(_uid(db, native), now) is None


def _uid(db: Database, native: str) -> str:
    """The uid that the sync gives a live session. An imported session has the uid of its origin."""
    known = LiveImports(db).of_name(native)
    return make_uid(LIVE, native) if known is None else known.origin


def _drop_collected(store: Store, native: str) -> None:
    rows = [row for row in store.sources.named_for(LIVE, native) if row.host == _NOWHERE]
    own = [row.id for row in rows]
    # A session that was imported from another runtime has the uid of its origin.
    sessions = {one for source in own for one in store.sessions.of_source(source)}
    gone: dict[int, str] = {}
    for session in sessions:
        row = store.sessions.row_by_id(session)
        if set(store.sessions.source_ids(session)) <= set(own):
            gone[session] = row.uid
        else:
            # The session has another log and will be derived from that alone. The words of the
            # erased rows are removed from the index now.
            docs = store.events.docs_by_place(session).items()
            store.index.drop([doc for (source, _, _), doc in docs if source in own])
            store.sessions.mark_stale(session)
        children = [store.sessions.row(child) for child in store.sessions.children(row.uid)]
        others = {*store.sessions.sharing_with(session), *(one.id for one in children if one)}
        for other in others:
            if store.sessions.row_by_id(other).evicted_at is None:
                store.sessions.mark_stale(other)
    if own:
        delete_sessions(store, gone, own)
