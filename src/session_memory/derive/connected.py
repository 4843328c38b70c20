"""Find connected sessions: they share records, or one session refers to the records of another."""

from collections.abc import Iterable, Iterator, Sequence

from session_memory.derive.facts import base_of
from session_memory.store.store import Store


def connected_sessions(store: Store, session_id: int) -> list[int]:
    """Return the session and all that are connected with it, directly or through others."""
    return connected_to(store, [session_id])


def connected_to(store: Store, session_ids: Iterable[int]) -> list[int]:
    """Return the sessions and all that are connected with them, directly or through others."""
    found = set(session_ids)
    waiting = list(found)
    while waiting:
        session = waiting.pop()
        for other in (*store.sessions.sharing_with(session), *_by_reference(store, session)):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return sorted(found)


def grouped(store: Store, some: Iterable[Sequence[int]]) -> list[list[int]]:
    """Group lists of sessions, so that lists whose sessions are connected are in one group.

    Each group has the positions of its lists in ``some``.
    """
    groups: dict[int, list[int]] = {}
    group_of: dict[int, int] = {}
    for number, sessions in enumerate(some):
        is_known = all(one in group_of for one in sessions)
        near = sessions if is_known else connected_to(store, sessions)
        before = {group_of[one] for one in near if one in group_of}
        target = before.pop() if len(before) == 1 else number
        groups.setdefault(target, []).append(number)
        for other in before:
            groups[target] = sorted(groups[target] + groups.pop(other))
        group_of.update((one, target) for one in near)
        if before:
            group_of = {one: target if of in before else of for one, of in group_of.items()}
    return list(groups.values())


def group_of(store: Store, session_ids: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return the sessions and all that are connected with them or share a source with them,
    directly or through others; and the sources of all these."""
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
    """Yield the sessions that begin with the history of this session by reference, and the session
    whose history this one begins with by reference."""
    row = store.sessions.row_by_id(session_id)
    base = base_of(row)
    origin = store.sessions.row(base[0]) if base is not None else None
    if origin is not None:
        yield origin.id
    for fork in store.sessions.forks_of(row.uid):
        if base_of(fork) is not None:
            yield fork.id
