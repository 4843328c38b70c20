"""Store the problem of a session that has the response id of another session's response.

Both responses count (`session_memory.derive.same_responses`). The problem says that the id is not
unique, so that nobody adds up usage by ids. A session has the problem once, at its first such
response. The problem goes away when the other session is forgotten.
"""

from collections.abc import Collection, Iterable

from session_memory.core.text import one_line
from session_memory.store.store import Store

SHARED_ID = "response id of another session"
_DETAIL = 400


def shared_ids(store: Store, session_ids: Iterable[int]) -> set[int]:
    """The keys of responses whose problem may go away when these sessions are derived again."""
    return {key for session in session_ids for key in store.response_ids.shared_by(session)}


def note_shared_ids(store: Store, keys: Iterable[int], written: Collection[int], now: int) -> None:
    """Store or remove the problem of all sessions with one of these responses.

    ``written`` are the sessions whose usage has just changed. If two others have the same id, they
    have the problem because of each other. They are skipped, because there may be thousands.
    """
    sessions: set[int] = set()
    is_shared = False
    for key in keys:
        owners = store.response_ids.owners(key, len(written) + 2)
        others = set(owners).difference(written)
        is_shared |= len(owners) > 1
        if len(others) == 1:
            (other,) = others
            if len(owners) > 1 or _is_noted(store, other):
                sessions.add(other)
    sessions.update(one for one in written if is_shared or _is_noted(store, one))
    for session_id in sorted(sessions):
        _note(store, session_id, now)


def _is_noted(store: Store, session_id: int) -> bool:
    sources = store.sessions.source_ids(session_id)
    return any(store.problems.has(source, SHARED_ID) for source in sources)


def _note(store: Store, session_id: int, now: int) -> None:
    row = store.sessions.row_by_id(session_id)
    first = store.response_ids.first_shared_by(session_id)
    if row.evicted_at is not None and store.response_ids.shared_by(session_id):
        # The place of the response is not known before the session is restored.
        return
    details: dict[int, dict[int, str]] = {
        source: {} for source in store.sessions.source_ids(session_id)
    }
    if first is not None:
        usage_id, source_id, place = first
        words = f"{row.uid}: {usage_id} is the id of another response too, and both count"
        details[source_id] = {place: one_line(words, _DETAIL)}
    for source_id, places in details.items():
        store.problems.replace(source_id, SHARED_ID, {row.uid}, places, now)
