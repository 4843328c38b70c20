"""Archive, close, reopen and rename sessions."""

from session_memory.live.connection import now
from session_memory.live.rows import SessionKind, SessionStatus, SubagentLifecycle
from session_memory.live.sessions import SessionOperations, stored_text

_SET_STATUS = """
    update live_sessions set status = :status, updated_at = :now, revision = revision + 1
    where session_id = :session and status <> 'closed'{guard} returning id
"""
_CLOSE = """
    update live_sessions set status = 'closed', updated_at = :now, revision = revision + 1,
        lease_owner = null, lease_until = 0, fence = fence + 1
    where session_id = :session and status <> 'closed'
"""
_MAY_CLOSE = """
    update live_sessions set fence = fence where session_id = :session{guard} returning status
"""
_REOPEN = """
    update live_sessions set status = 'active', updated_at = :now, revision = revision + 1
    where session_id = :session and status = 'closed'
"""
_TOUCH = """
    update live_sessions set updated_at = :now, revision = revision + 1
    where session_id = :session and status <> 'closed'{guard} returning id
"""
_SET_PROMPT = "update live_settings set system_prompt = :prompt where session_key = :key"
_SET_TITLE = """
    update live_sessions set title = :title, updated_at = :now, revision = revision + 1
    where session_id = :session and status <> 'closed'{guard} returning id
"""
_ORPHAN = """
    update live_sessions set detached_from = parent_session_id, parent_session_id = null,
        revision = revision + 1
    where session_id = :session
"""
_ADOPT = """
    update live_sessions set parent_session_id = detached_from, detached_from = null,
        revision = revision + 1
    where detached_from = :session and status <> 'closed'
"""


class StatusOperations(SessionOperations):
    def archive_session(self, session_id: str, *, fence: int | None = None) -> None:
        """Archive a session: it stays readable and refuses appends."""
        with self._writing():
            self._change(_SET_STATUS, session_id, fence, status=SessionStatus.ARCHIVED.value)

    def unarchive_session(self, session_id: str) -> None:
        with self._writing():
            self._change(_SET_STATUS, session_id, status=SessionStatus.ACTIVE.value)

    def update_session_prompt(
        self, session_id: str, system_prompt: str | None, *, fence: int | None = None
    ) -> None:
        with self._writing():
            [key] = self._change(_TOUCH, session_id, fence)
            self._db.execute(
                _SET_PROMPT, {"key": key, "prompt": stored_text(system_prompt, "system_prompt")}
            )

    def rename_session(self, session_id: str, title: str, *, fence: int | None = None) -> None:
        with self._writing():
            self._change(_SET_TITLE, session_id, fence, title=stored_text(title, "title"))

    def close_session(
        self, session_id: str, *, cascade: bool = True, fence: int | None = None
    ) -> int:
        """Hide a session and its subagents; return how many sessions were closed.

        Detached subagents stay open and lose their parent. Without ``cascade``, this is so for all
        subagents.
        Nothing is erased: the usage still counts, and the session can be read by its id.
        """
        with self._writing():
            if self._session(session_id) is None:
                return 0
            [status] = self._change(_MAY_CLOSE, session_id, fence)
            return 0 if status == SessionStatus.CLOSED else self._close(session_id, cascade)

    def _close(self, session_id: str, cascade: bool) -> int:
        closed = 1
        self._db.execute(_CLOSE, {"session": session_id, "now": now()})
        for child in self._children(session_id):
            if cascade and child.lifecycle != SubagentLifecycle.DETACHED:
                closed += self._close(child.session_id, cascade)
            else:
                self._db.execute(_ORPHAN, {"session": child.session_id})
        return closed

    def reopen_session(self, session_id: str) -> None:
        """Reopen one closed session. Subagents that lost it as a parent get it back."""
        with self._writing():
            if self._session(session_id) is None:
                raise self._unknown(session_id)
            self._db.execute(_REOPEN, {"session": session_id, "now": now()})
            self._db.execute(_ADOPT, {"session": session_id})

    def finish_subagent(
        self, session_id: str, *, completed: bool = True, fence: int | None = None
    ) -> bool:
        """Close an ephemeral subagent that completed. Returns whether it was closed."""
        with self._writing():
            row = self._session(session_id)
            if row is None or row.status == SessionStatus.CLOSED:
                raise self._unknown(session_id)
            if not completed or row.kind != SessionKind.SUBAGENT:
                return False
            if row.lifecycle != SubagentLifecycle.EPHEMERAL:
                return False
            return self.close_session(session_id, fence=fence) > 0
