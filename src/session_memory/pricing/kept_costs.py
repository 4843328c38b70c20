"""Read what each session cost from stored figures.

Sessions that have changed since are counted from their usage records.
"""

import msgspec

from session_memory.pricing.counted import MILLION, Clock, UsageFilter, counted_charges
from session_memory.pricing.figure_sets import FEW_MARKS, figure_set
from session_memory.pricing.kept_charges import WholeDays
from session_memory.store import Store
from session_memory.store.figures import NO_DAY, listed

_CHANGED = "select s.id, s.uid from sessions s where s.id in ({ids})"
_ALL_TIME = """
    select s.uid, c.microdollars from session_costs c join sessions s on s.id = c.session_id
    where c.set_id{plus} = :set_id and c.microdollars > 0 {among}
"""
_ON_DAYS = f"""
    select s.uid, sum(f.dollars) * {MILLION} + sum(f.rest) as microdollars
    from session_spending f join sessions s on s.id = f.session_id
    where f.set_id{{plus}} = :set_id and f.day <> {NO_DAY} {{days}} {{among}}
    group by s.id, s.uid
"""
_DEAREST = " order by microdollars desc, s.uid limit {limit}"
_ALONE = """
    and (s.relation is null or s.relation <> 'subagent' or s.parent_uid is null)
    and not exists (
        select 1 from sessions b where b.parent_uid = s.uid and b.relation = 'subagent'
    )
"""
_IN_FAMILIES = (
    "and s.relation = 'subagent' and s.parent_uid is not null",
    "and s.uid in (select b.parent_uid from sessions b where b.relation = 'subagent')",
)


class KeptCosts(msgspec.Struct, frozen=True):
    """A set of figures. ``changed`` has the sessions with outdated figures: id to uid."""

    set_id: int
    changed: dict[int, str]

    @property
    def unchanged(self) -> str:
        """The SQL condition that the figures of a session ``s`` are not outdated."""
        return f"and s.id not in ({listed(self.changed)})" if self.changed else ""


def kept_costs(store: Store, clock: Clock) -> KeptCosts | None:
    """Return the set of figures to read costs from; None if there is none, or too many sessions
    have changed. Call it inside a snapshot."""
    known = figure_set(store, clock)
    if known is None:
        return None
    ids = store.figures.marked(known.id, FEW_MARKS + 1)
    if len(ids) > FEW_MARKS:
        return None
    rows = store.db.all(_CHANGED.format(ids=listed(ids)))
    return KeptCosts(known.id, {row[0]: row[1] for row in rows})


def dear_sessions(
    store: Store, usage: UsageFilter, clock: Clock, limit: int
) -> dict[str, int] | None:
    """Return the cost of the most expensive sessions in a period, by uid.

    These are the ``limit`` most expensive sessions without subagents, all sessions that have or are
    subagents, and the sessions whose figures are outdated. None if figures cannot answer this, or
    if fewer than ``limit`` sessions have no subagents.
    """
    costs, days = kept_costs(store, clock), WholeDays(usage, clock)
    if costs is None or days.partial:
        return None
    if days.first is None and days.end is None:
        sql = _ALL_TIME
    else:
        sql = _ON_DAYS.replace("{days}", days.condition())

    def ask(among: str, order: str = "") -> dict[str, int]:
        asked = sql.replace("{among}", f"{costs.unchanged} {among}") + order
        # Sessions with subagents are few. Adding 0 makes SQLite find them first and look up their
        # costs, instead of reading all costs of the set.
        asked = asked.replace("{plus}", "" if order else " + 0")
        rows = store.db.all(asked, {"set_id": costs.set_id})
        return {uid: int(amount) for uid, amount in rows}

    found = ask(_ALONE, _DEAREST.format(limit=limit))
    if len(found) < limit:
        return None
    for members in _IN_FAMILIES:
        found |= ask(members)
    period = UsageFilter(since=usage.since, until=usage.until, uids=tuple(costs.changed.values()))
    for one in counted_charges(store, ("session",), period, clock=clock):
        uid = str(one.key[0])
        found[uid] = found.get(uid, 0) + one.microdollars
    return found
