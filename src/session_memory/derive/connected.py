"""Sessions that share history: those that hold the same records, or begin with another's."""

from collections.abc import Iterable, Iterator

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


def group_of(store: Store, session_ids: Iterable[int]) -> tuple[set[int], set[int]]:
    """The sessions and all that share a record or a source with them, and all their sources."""
    sources: set[int] = set()
    found = set(session_ids)
    waiting = list(found)
    while waiting:
        session = waiting.pop()
        near = {*store.sessions.sharing_with(session), *_by_reference(store, session)}
        for source in store.sessions.source_ids(session):
            if source not in sources:
                sources.add(source)
                near.update(store.sessions.of_source(source))
        waiting += near - found
        found |= near
    return found, sources


def group_by_sources(store: Store, session_ids: Iterable[int]) -> tuple[set[int], set[int]]:
    """The sessions and all that are read from the same sources, and all their sources."""
    sources: set[int] = set()
    found = set(session_ids)
    waiting = list(found)
    while waiting:
        for source in store.sessions.source_ids(waiting.pop()):
            if source not in sources:
                sources.add(source)
                near = set(store.sessions.of_source(source))
                waiting += near - found
                found |= near
    return found, sources


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
