"""Marks of sessions whose kept figures (stored sums of cost, files and work) are out of date.

A transaction that changes a session, its events or its usage also marks the session. So the figures
of a session without a mark are right.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from session_memory.store.database import Database

_MARK = """
    insert into figure_marks (set_id, session_id)
    select f.id, :session from figure_sets f
    where not exists (
        select 1 from figure_marks m where m.set_id = f.id and m.session_id = :session
    )
"""
_ANY_SET = "select 1 from figure_sets limit 1"
FILES, STATISTICS = UNPRICED = ("files", "statistics")
"""The names of sets of figures that depend neither on prices nor on outcomes."""
_MARK_OUTCOME = f"""
    insert into figure_marks (set_id, session_id)
    select f.id, s.id from figure_sets f cross join sessions s
    where s.uid = :uid and f.prices not in ({", ".join(f"'{name}'" for name in UNPRICED)})
"""


class FigureMarks:
    """Notes the sessions that change. Within a transaction of the store they are collected, and
    written once before it ends: most sessions change several times, and most small stores have no
    figures."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._collected: dict[int, None] | None = None

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect marks until the end of the block, which is inside a write transaction."""
        if self._collected is not None:
            yield
            return
        self._collected = {}
        try:
            yield
            self._write(self._collected)
        finally:
            self._collected = None

    def add(self, session_id: int) -> None:
        """Note that a session changes in this transaction."""
        if self._collected is None:
            self._write((session_id,))
        else:
            self._collected[session_id] = None

    def _write(self, session_ids: Collection[int]) -> None:
        if session_ids and self._db.one(_ANY_SET) is not None:
            self._db.update_many(_MARK, ({"session": one} for one in session_ids))


def mark_outcome(db: Database, uid: str) -> None:
    """Mark a session's figures that depend on its outcome, which changes in this transaction."""
    db.execute(_MARK_OUTCOME, {"uid": uid})
