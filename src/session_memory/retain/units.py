"""Group sessions into units, which are evicted together with all their sources.

Sessions of the same source are one unit. A subagent belongs to the unit of its parent. A fork that
only refers to another session's history belongs to the unit of that session. A fork whose own log
has a copy of the history is in a unit of its own.
"""

from collections.abc import Iterable

import msgspec

from session_memory.derive.facts import base_of
from session_memory.store.retention import Candidate
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that are evicted together.

    ``bytes`` is the size of their packs, or of a live session's rows. ``last_at`` is the time of
    their last event.

    ``revisions``: the revision of each session. If one changes later, the unit is not evicted.
    ``live_revision``: the revision of a live session's rows. ``is_child``: it is a finished
    ephemeral subagent, which the caps evict first.
    """

    uids: tuple[str, ...]
    sessions: tuple[int, ...]
    revisions: tuple[int, ...]
    sources: tuple[int, ...]
    bytes: int
    last_at: int
    is_analyzed: bool
    is_pinned: bool = False
    is_child: bool = False
    live_revision: int | None = None

    @property
    def is_evictable(self) -> bool:
        return self.is_analyzed and not self.is_pinned


def units(store: Store, now: int) -> list[Unit]:
    """Return all units that have packs, oldest first. `live_units` has those of live sessions."""
    retention = store.retention
    sessions = {one.id: one for one in retention.candidates() if one.evicted_at is None}
    sizes, ours = retention.pack_bytes(), retention.row_sources()
    groups = _Groups()
    sources: dict[int, set[int]] = {one: set() for one in sessions}
    first_of: dict[int, int] = {}
    live: set[int] = set()
    for session, source in retention.session_sources():
        if session in sessions:
            sources[session].add(source)
            groups.join(session, first_of.setdefault(source, session))
            if source in ours:
                live.add(session)
    by_name = {(one.flavor, one.native_id): one.id for one in sessions.values()}
    for source, flavor, native in retention.spills():
        if (flavor, native) in by_name:
            sources[by_name[flavor, native]].add(source)
    _join_relatives(sessions.values(), groups)
    pinned = retention.pins(now).keys()
    result = []
    for members in groups.of(sessions):
        held = sorted({source for one in members for source in sources[one]})
        size = sum(sizes.get(source, 0) for source in held)
        if size and live.isdisjoint(members):
            result.append(_unit([sessions[one] for one in members], held, size, pinned))
    return sorted(result, key=lambda unit: (unit.last_at, unit.uids))


def _join_relatives(sessions: Iterable[Candidate], groups: "_Groups") -> None:
    by_uid = {one.uid: one.id for one in sessions}
    for one in sessions:
        if one.relation == "subagent" and one.parent_uid in by_uid:
            groups.join(one.id, by_uid[one.parent_uid])
        if one.relation == "fork" and '"base"' in one.facts:
            base = base_of(
                CollectedSession(
                    uid=one.uid,
                    flavor=one.flavor,
                    native_id=one.native_id,
                    relation=one.relation,
                    facts=one.facts,
                )
            )
            if base is not None and base[0] in by_uid:
                groups.join(one.id, by_uid[base[0]])


def _unit(members: list[Candidate], sources: list[int], size: int, pinned: Iterable[str]) -> Unit:
    members = sorted(members, key=lambda one: one.uid)
    uids = tuple(one.uid for one in members)
    return Unit(
        uids=uids,
        sessions=tuple(one.id for one in members),
        revisions=tuple(one.revision for one in members),
        sources=tuple(sources),
        bytes=size,
        last_at=max(one.ended_at or one.ingested_at or 0 for one in members),
        is_analyzed=all(is_analyzed(one) for one in members),
        is_pinned=not set(uids).isdisjoint(pinned),
    )


def is_analyzed(one: Candidate | CollectedSession) -> bool:
    """Whether the session was analyzed at its current revision."""
    return not one.stale and one.analyzed_revision == one.revision


class _Groups:
    """Groups that are built by joining two members at a time (union-find)."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def _top(self, one: int) -> int:
        while (above := self._above.get(one, one)) != one:
            self._above[one] = self._above.get(above, above)
            one = above
        return one

    def join(self, one: int, other: int) -> None:
        self._above[self._top(one)] = self._top(other)

    def of(self, all_of_them: Iterable[int]) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for one in all_of_them:
            groups.setdefault(self._top(one), []).append(one)
        return list(groups.values())
