"""Erase sessions for good. Closing only hides them, unless the store was opened to erase."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from session_memory.core.errors import InvalidRecord
from session_memory.core.live_errors import LeaseHeld, SessionInUse
from session_memory.core.text import short_repr
from session_memory.live.connection import LONGEST_LEASE_MS, is_usable, now
from session_memory.live.rows import SubagentLifecycle
from session_memory.live.session_status import StatusOperations
from session_memory.store.live_erase import erase_live, is_pinned
from session_memory.store.retention_forget import live_holders
from session_memory.store.store import Store

HIDE, ERASE = "hide", "erase"
_LOCK = """
    update live_sessions set fence = fence where session_id = :session{guard} returning id
"""
_LOCK_CHILDREN = """
    update live_sessions set fence = fence where parent_session_id = :session
    returning session_id, lifecycle, lease_owner, lease_until
"""


class _Subagent(NamedTuple):
    child: str
    lifecycle: str
    owner: str | None
    until: int

    @property
    def is_leased(self) -> bool:
        return self.owner is not None and now() < self.until <= now() + LONGEST_LEASE_MS


class EraseOperations(StatusOperations):
    closing = HIDE
    """Whether `close_session` hides a session or erases it: ``"hide"`` or ``"erase"``."""

    def erase_session(
        self, session_id: str, *, cascade: bool = True, fence: int | None = None
    ) -> int:
        """Delete a session and its subagents from the database; return how many were deleted.

        Open, archived and closed sessions can be erased. This deletes their messages, their usage
        and everything that was collected from them; new sessions may use their ids. Detached
        subagents stay and lose their parent. Without ``cascade``, this is so for all subagents.
        `SessionInUse` is raised if a session is pinned or a fork continues its messages, and
        `LeaseHeld` if somebody else works on it; then nothing is erased.
        """
        if not is_usable(session_id):
            return 0
        with self._erasing() as store:
            if self._session(session_id) is None:
                return 0
            self._change(_LOCK, session_id, fence)
            together = [session_id, *(self._subagents(session_id) if cascade else ())]
            for one in together:
                self._refuse_needed(one, together)
            erase_live(store, together, now())
        return len(together)

    def close_session(
        self, session_id: str, *, cascade: bool = True, fence: int | None = None
    ) -> int:
        """Hide a session and its subagents; return how many sessions were closed.

        Detached subagents stay open and lose their parent. Without ``cascade``, this is so for all
        subagents.
        Nothing is erased: the usage still counts, and the session can be read by its id. But a
        store that was opened with ``closing="erase"`` erases the sessions. Of these, a session that
        is pinned, that shares messages with a fork, or that is a subagent with a lease is only
        hidden.
        """
        if self.closing == HIDE:
            return super().close_session(session_id, cascade=cascade, fence=fence)
        with self._erasing():
            # Closing a session ends its lease, so leases are read before.
            leased = {one.child for one in self._found_below(session_id) if one.is_leased}
            closed = super().close_session(session_id, cascade=cascade, fence=fence)
            if closed:
                self._erase_closed(session_id, leased, cascade=cascade)
            return closed

    def _erase_closed(self, session_id: str, leased: set[str], *, cascade: bool) -> None:
        """Erase a closed session and its subagents. What may not be erased stays hidden."""
        below = self._subagents(session_id) if cascade else []
        if leased.isdisjoint((session_id, *below)):
            with suppress(SessionInUse):
                self.erase_session(session_id, cascade=cascade)
                return
        for child in below:
            self._erase_closed(child, leased, cascade=cascade)

    def finish_subagent(
        self, session_id: str, *, completed: bool = True, fence: int | None = None
    ) -> bool:
        """Close an ephemeral subagent that completed. Returns whether it was closed."""
        if self.closing == HIDE:
            return super().finish_subagent(session_id, completed=completed, fence=fence)
        with self._erasing():
            return super().finish_subagent(session_id, completed=completed, fence=fence)

    @contextmanager
    def _erasing(self) -> Iterator[Store]:
        """Open a transaction during which no sync writes.

        Otherwise a sync that has read the session could store it after it was erased.
        """
        store = Store(self._db)
        with self._exclusive, store.transaction():
            yield store

    def _subagents(self, session_id: str) -> list[str]:
        """Lock the subagents at any depth, closed ones too, and return their ids.

        Detached ones, and those below them, are left out. Raises `LeaseHeld` if one is in use.
        """
        found = []
        for one in self._found_below(session_id):
            if one.is_leased:
                raise LeaseHeld(one.child, one.owner or "", one.until - now())
            found.append(one.child)
        return found

    def _found_below(self, session_id: str) -> Iterator["_Subagent"]:
        """Lock the subagents at any depth, closed ones too, without detached ones and those below
        them."""
        found = [session_id]
        for parent in found:
            for row in self._db.all(_LOCK_CHILDREN, {"session": parent}):
                one = _Subagent(*row)
                if one.lifecycle != SubagentLifecycle.DETACHED.value and one.child not in found:
                    found.append(one.child)
                    yield one

    def _refuse_needed(self, session_id: str, together: list[str]) -> None:
        if is_pinned(self._db, session_id, now()):
            raise SessionInUse(
                f"session {short_repr(session_id)} is pinned",
                f"Unpin it first: session-memory unpin live:{session_id}",
            )
        others = sorted(set(live_holders(self._db, session_id)) - set(together))
        if others:
            raise SessionInUse(
                f"session {short_repr(others[0])} continues the messages of"
                f" {short_repr(session_id)}",
                "Erase the fork first, or hide this session with close_session.",
            )


def checked_closing(value: str) -> str:
    if value not in (HIDE, ERASE):
        raise InvalidRecord(
            f"closing is {short_repr(value)}", 'Give "hide" or "erase".', field="closing"
        )
    return value
