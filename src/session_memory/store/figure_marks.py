"""Marks: sessions whose kept figures do not count any more.

Every statement that changes a session, its events or its usage is followed by a mark, in the same
transaction. So what `session_memory.store.figures` says about sessions without a mark is true.
"""

from session_memory.store.database import Database

_MARK = """
    insert into figure_marks (set_id, session_id)
    select f.id, :session from figure_sets f
    where not exists (
        select 1 from figure_marks m where m.set_id = f.id and m.session_id = :session
    )
"""
_MARK_UID = """
    insert into figure_marks (set_id, session_id)
    select f.id, s.id from figure_sets f cross join sessions s where s.uid = :uid
"""


def mark_session(db: Database, session_id: int) -> None:
    """Note that a session changes in this transaction."""
    db.execute(_MARK, {"session": session_id})


def mark_uid(db: Database, uid: str) -> None:
    """The same for a session that is known by its uid."""
    db.execute(_MARK_UID, {"uid": uid})
