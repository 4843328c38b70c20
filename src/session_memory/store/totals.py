"""How many sessions the store has of each agent, in one pass over the table of sessions."""

import msgspec

from session_memory.store.database import Database

_TOTALS = """
    select flavor, count(*),
        sum(case when relation = 'subagent' then 1 else 0 end),
        sum(case when coalesce(ended_at, started_at, 0) >= :since then 1 else 0 end),
        sum(case when analyzed_at is null and evicted_at is null then 1 else 0 end),
        max(ingested_at), max(coalesce(ended_at, started_at))
    from sessions group by flavor order by count(*) desc, flavor
"""


class FlavorTotals(msgspec.Struct, frozen=True):
    """The sessions of one agent. ``recent`` ones were active at or after the given moment.

    ``active_at`` is the end of the latest session.
    """

    flavor: str
    sessions: int
    subagents: int
    recent: int
    never_analyzed: int
    collected_at: int | None
    active_at: int | None


def totals_by_flavor(db: Database, since: int) -> list[FlavorTotals]:
    """One row for each agent, the one with most sessions first."""
    return [FlavorTotals(*row) for row in db.all(_TOTALS, {"since": since})]
