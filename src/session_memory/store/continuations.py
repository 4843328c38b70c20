"""Find sessions that begin with an accepted plan, to carry out what another session planned."""

from typing import NamedTuple

from session_memory.store.database import Database

MOST = 50
# The plan is among the first events. Notices of the agent may come before it.
_BEGUN_WITH_PLAN = f"""
    select s.uid, e.summary, s.cwd, s.started_at
    from sessions s join events e on e.session_id = s.id
    where s.flavor = :flavor and s.id <> :session and e.seq < 10
        and e.native_kind = (select id from names where name = 'user/plan')
        and s.started_at >= :since and s.started_at <= :until
    order by s.started_at, s.uid limit {MOST}
"""


class BegunWithPlan(NamedTuple):
    uid: str
    summary: str
    cwd: str | None
    started_at: int


def begun_with_plan(
    db: Database, session_id: int, flavor: str, since: int, until: int
) -> list[BegunWithPlan]:
    """Return other sessions of the agent that began with an accepted plan, the oldest first.

    Only sessions that started from ``since`` until ``until`` are returned, at most `MOST`.
    """
    params = {"session": session_id, "flavor": flavor, "since": since, "until": until}
    return [BegunWithPlan(*row) for row in db.all(_BEGUN_WITH_PLAN, params)]
