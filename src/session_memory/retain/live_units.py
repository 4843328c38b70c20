"""Make units (what is evicted together) of closed live sessions, one of each.

Live sessions that are not closed, forks, forked sessions and imported sessions are not evicted.
"""

from collections.abc import Collection

from session_memory.derive.live_sources import LIVE, NOWHERE, refs_of
from session_memory.retain.units import Unit, is_analyzed, units
from session_memory.store.live_closed import ClosedSession, closed_sessions
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


def all_units(store: Store, now: int) -> list[Unit]:
    """Return all units that are not evicted, of logs and of live sessions, oldest first."""
    both = [*units(store, now), *live_units(store, now)]
    return sorted(both, key=lambda unit: (unit.last_at, unit.uids))


def live_units(store: Store, now: int) -> list[Unit]:
    """Return a unit for each closed live session that was collected.

    If it changed since it was collected, it counts as not analyzed.
    """
    closed = closed_sessions(store.db)
    if not closed:
        return []
    known, pinned = store.sources.known(NOWHERE), store.retention.pins(now).keys()
    found = [_unit(store, one, known, pinned) for one in closed]
    return [unit for unit in found if unit is not None]


def _unit(
    store: Store, one: ClosedSession, known: dict[str, SourceRow], pinned: Collection[str]
) -> Unit | None:
    uid = f"{LIVE}:{one.session_id}"
    session = store.sessions.row(uid)
    sources = [known.get(str(ref.path)) for ref in refs_of(one.session_id)]
    found = [row for row in sources if row is not None]
    if session is None or session.evicted_at is not None or len(found) < len(sources):
        return None
    if {row.id for row in found} != set(store.sessions.source_ids(session.id)):
        return None
    is_current = all((r.size, r.mtime_ns) == (one.revision, one.last_usage) for r in found)
    return Unit(
        uids=(uid,),
        sessions=(session.id,),
        revisions=(session.revision,),
        sources=tuple(sorted(row.id for row in found)),
        bytes=one.bytes,
        last_at=session.ended_at or session.ingested_at or 0,
        is_analyzed=is_current and is_analyzed(session),
        is_pinned=uid in pinned,
        is_child=bool(one.is_child),
        live_revision=one.revision,
    )
