"""Sessions that share history: those that hold the same records, or begin with another's."""

from collections.abc import Iterator

from session_memory.derive.facts import base_of
from session_memory.store.store import Store


def connected_sessions(store: Store, session_id: int) -> list[int]:
    """The session and all that share a record with it, directly or through others."""
    found, waiting = {session_id}, [session_id]
    while waiting:
        session = waiting.pop()
        for other in (*store.sessions.sharing_with(session), *_by_reference(store, session)):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return sorted(found)


def _by_reference(store: Store, session_id: int) -> Iterator[int]:
    """Forks by reference: the sessions forked from this one, and the one it was forked from."""
    row = store.sessions.row_by_id(session_id)
    base = base_of(row)
    origin = store.sessions.row(base[0]) if base is not None else None
    if origin is not None:
        yield origin.id
    for fork in store.sessions.forks_of(row.uid):
        if base_of(fork) is not None:
            yield fork.id
