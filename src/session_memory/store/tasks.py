"""Tasks: the issue, pull request or ticket that each session works on.

Derivation stores the task that a session's logs name, in the row of the session. A task that a
person sets is stored here, so that it survives every derivation.
"""

from typing import NamedTuple

from session_memory.core.text import escaped
from session_memory.store.database import Database
from session_memory.store.session_columns import TASK

_UNSET = "delete from tasks where session_uid = :uid"
_SET = "insert into tasks (session_uid, task_ref, set_at) values (:uid, :task, :now)"
_OF_SESSIONS = f"""
    select s.id, s.uid, {TASK}, s.repo, s.parent_uid, s.relation, s.ended_at from sessions s
"""


class SessionTask(NamedTuple):
    """A session and its task, with what decides to whom the task belongs."""

    id: int
    uid: str
    task: str | None
    repo: str | None
    parent_uid: str | None
    relation: str | None
    ended_at: int | None


class Tasks:
    def __init__(self, db: Database) -> None:
        self._db = db

    def set(self, uid: str, task: str | None, now: int) -> None:
        """Set the task of a session: "" means no task, None means the task that its logs name."""
        self._db.execute(_UNSET, {"uid": uid})
        if task is not None:
            self._db.execute(_SET, {"uid": uid, "task": escaped(task), "now": now})

    def of_sessions(self) -> dict[str, SessionTask]:
        return {row[1]: SessionTask(*row) for row in self._db.all(_OF_SESSIONS)}
