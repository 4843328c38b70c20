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
FILES, STATISTICS = UNPRICED = ("files", "statistics")
"""Sets of figures that need no prices. They depend on no outcome either."""
_MARK_OUTCOME = f"""
    insert into figure_marks (set_id, session_id)
    select f.id, s.id from figure_sets f cross join sessions s
    where s.uid = :uid and f.prices not in ({", ".join(f"'{name}'" for name in UNPRICED)})
"""


def mark_session(db: Database, session_id: int) -> None:
    """Note that a session changes in this transaction."""
    db.execute(_MARK, {"session": session_id})


def mark_outcome(db: Database, uid: str) -> None:
    """Note that the outcome of a session changes in this transaction."""
    db.execute(_MARK_OUTCOME, {"uid": uid})
