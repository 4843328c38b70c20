"""Usage that a session only reports: it counts as long as no session logs the response itself.

The log of a parent repeats what the responses of its subagents used. Often it is the only log that
has them. When a session arrives that logged the response itself, that one counts; when the session
is forgotten, the report counts again. Only the rows of these responses change and the sums of their
sessions, so that a parent and its subagent can be followed at the same time.
"""

from collections.abc import Iterable, Sequence
from operator import add

from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, StoredUsage


def settle_reports(
    store: Store, keys: Iterable[int], rows: Sequence[CollectedSession] = ()
) -> None:
    """Decide again which reports count, among the responses with these keys.

    ``rows`` are the sessions that the caller has in memory and may save later.
    """
    reported = store.usage.reported_keys(sorted(set(keys)))
    changed: dict[int, tuple[int, ...]] = {}
    stored = store.usage.stored(reported)
    logged = {(one.usage_key, one.usage_id) for one in stored if not one.is_reported}
    for usage in stored:
        if usage.is_reported:
            is_logged = (usage.usage_key, usage.usage_id) in logged
            _settle(store, usage, None if is_logged else usage.reported_for or None, changed)
    for session_id, more in changed.items():
        if any(more):
            store.usage.add_to_sums(session_id, more)
            _add_to_row(rows, session_id, more)


def _settle(
    store: Store, usage: StoredUsage, owner: int | None, changed: dict[int, tuple[int, ...]]
) -> None:
    """Let a report count for ``owner``, and note what its sessions gain and lose."""
    if owner == usage.owner_id:
        return
    store.usage.set_owner(usage.id, owner)
    for session_id, sign in ((usage.owner_id, -1), (owner, 1)):
        if session_id is not None:
            more = tuple(sign * count for count in usage.buckets)
            changed[session_id] = tuple(map(add, changed.get(session_id, (0,) * len(more)), more))


def _add_to_row(rows: Sequence[CollectedSession], session_id: int, more: tuple[int, ...]) -> None:
    for row in rows:
        if row.id == session_id:
            for name, count in zip(BUCKETS, more, strict=True):
                setattr(row, name, getattr(row, name) + count)
            row.revision += row.evicted_at is None
