"""Count the sessions of each agent, and find the latest activity, quickly in a large store."""

import msgspec

from session_memory.store.database import Database

_TOTALS = """
    select flavor, relation, count(*), max(ingested_at) from sessions group by flavor, relation
"""
# Grouping by an expression keeps SQLite from reading all sessions in the order of their agents.
_RECENT = """
    select flavor || '', count(*) from sessions where ended_at >= :since group by 1
    union all
    select flavor || '', count(*) from sessions where ended_at is null and started_at >= :since
    group by 1
"""
# The second condition changes nothing, because every session that was never analyzed meets it. But
# the database has an index for it.
_NEVER_ANALYZED = """
    select flavor || '', count(*) from sessions
    where evicted_at is null and (analyzed_revision is null or analyzed_revision <> revision)
        and analyzed_at is null
    group by 1
"""
_ACTIVE = (
    "select ended_at from sessions where ended_at is not null order by ended_at desc limit 1",
    "select max(started_at) from sessions where ended_at is null",
)


class FlavorTotals(msgspec.Struct):
    """The sessions of one agent. ``recent`` ones were active at or after the given moment."""

    flavor: str
    sessions: int = 0
    subagents: int = 0
    recent: int = 0
    never_analyzed: int = 0
    collected_at: int | None = None


def totals_by_flavor(db: Database, since: int) -> list[FlavorTotals]:
    """One row for each agent, the one with most sessions first."""
    found: dict[str, FlavorTotals] = {}
    for flavor, relation, number, collected_at in db.all(_TOTALS):
        one = found.setdefault(flavor, FlavorTotals(flavor))
        one.sessions += number
        one.subagents += number if relation == "subagent" else 0
        one.collected_at = max(filter(None, (one.collected_at, collected_at)), default=None)
    for flavor, number in db.all(_RECENT, {"since": since}):
        found.setdefault(flavor, FlavorTotals(flavor)).recent += number
    for flavor, number in db.all(_NEVER_ANALYZED):
        found.setdefault(flavor, FlavorTotals(flavor)).never_analyzed += number
    return sorted(found.values(), key=lambda one: (-one.sessions, one.flavor))


def last_active(db: Database) -> int | None:
    """The latest end of a session, or start of a session without an end."""
    return max((at for sql in _ACTIVE if (at := db.value(sql)) is not None), default=None)
