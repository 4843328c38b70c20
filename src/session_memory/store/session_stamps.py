"""Values that change whenever a page about a session, or about the newest sessions, may change."""

from session_memory.store.database import Database, Row

# The stamp covers all sessions below the session, because its page has their titles and costs.
_STAMP = """
    with recursive below (uid) as (
        select uid from sessions where uid = :uid union
        select s.uid from sessions s join below b on s.parent_uid = b.uid
    )
    select s.uid, s.revision, s.title, s.analyzed_at, s.evicted_at,
        (select n.set_at from given_names n where n.session_uid = s.uid),
        (select p.pinned_at from pins p where p.session_uid = s.uid),
        (select t.set_at from tasks t where t.session_uid = s.uid)
    from sessions s where s.uid in (select uid from below) order by s.uid
"""


def session_stamp(db: Database, uid: str) -> tuple[Row, ...] | None:
    """The state of a session and of those below it; None if there is no such session."""
    return tuple(db.all(_STAMP, {"uid": uid})) or None


_NEWEST = """
    select uid, revision, event_count from sessions
    order by ended_at desc nulls last, uid limit :limit
"""


def newest_revisions(db: Database, limit: int) -> dict[str, tuple[int, int]]:
    """The newest sessions by uid: the revision and the number of events of each.

    A session that gets new events becomes one of the newest. So two results show which sessions
    have changed.
    """
    return {row[0]: (row[1], row[2]) for row in db.all(_NEWEST, {"limit": limit})}
