"""Let usage that a session only reports count, as long as no session logs the response itself.

The log of a parent repeats what the responses of its subagents used. Often no other log has them.
When a session arrives that logged the response itself, that session's usage counts instead. When
that session is forgotten, the report counts again. Only the rows of these responses and the sums of
their sessions change. So no session must be derived again while a parent and its subagent grow.
"""

from collections.abc import Iterable, Sequence
from operator import add

from session_memory.derive.same_responses import family_of
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, StoredUsage

NEAR_MS = 60 * 60 * 1000
"""The most time between a report and the response it is about, if another session logged the
response."""


def settle_reports(
    store: Store, keys: Iterable[int], rows: Sequence[CollectedSession] = ()
) -> set[int]:
    """Decide again which reports count, among the responses with these keys.

    ``rows`` are the sessions that the caller has in memory and may save later. Returns the sessions
    whose usage changed.
    """
    reported = store.usage.reported_keys(sorted(set(keys)))
    changed: dict[int, tuple[int, ...]] = {}
    stored = store.usage.stored(reported)
    logged: dict[tuple[int, str], list[StoredUsage]] = {}
    for usage in stored:
        if not usage.is_reported:
            logged.setdefault((usage.usage_key, usage.usage_id), []).append(usage)
    for usage in stored:
        if usage.is_reported:
            found = logged.get((usage.usage_key, usage.usage_id), ())
            is_logged = any(_repeats(store, usage, one) for one in found)
            _settle(store, usage, None if is_logged else usage.reported_for or None, changed)
    for session_id, more in changed.items():
        if any(more):
            store.usage.add_to_sums(session_id, more)
            _add_to_row(rows, session_id, more)
    return set(changed)


def _repeats(store: Store, report: StoredUsage, logged: StoredUsage) -> bool:
    """Whether a report is about a logged response with the same id. It is in two cases:

    - The reporting session logged the response, or the session that the report counts for, or a
      subagent of either.
    - Another session logged the same counts of input tokens, at most `NEAR_MS` earlier or later. A
      report is often made before the response is complete. Each of these counts is then final or
      still 0, so 0 is equal to any count.
    """
    reporters = (report.session_id, report.reported_for or report.session_id)
    if logged.session_id in reporters:
        return True
    times = report.ts, logged.ts
    if None in times or abs((report.ts or 0) - (logged.ts or 0)) <= NEAR_MS:
        pairs = zip(report.input_counts, logged.input_counts, strict=True)
        if all(count in (0, whole) for count, whole in pairs):
            return True
    family, *families = (
        family_of(store.sessions.row_by_id(session).native_id)
        for session in (logged.session_id, *reporters)
    )
    return family in families


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
