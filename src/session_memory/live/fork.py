"""Fork a session: a new session that shares the past of another one."""

from typing import Any

from session_memory.core.live_errors import SessionExists, UnknownLiveSession
from session_memory.live.branches import Base
from session_memory.live.connection import check_id
from session_memory.live.context import apply_folds
from session_memory.live.messages import MessageOperations
from session_memory.live.rows import CompactionRow, SessionKind, SubagentLifecycle
from session_memory.live.sessions import new_session_id

_COPY_FOLD = """
    insert into live_folds (session_key, compact_seq, note_lane, note_seq, from_seq, to_seq,
        members, before_tokens, after_tokens, round_index, created_at)
    select :new, compact_seq, note_lane, note_seq, from_seq, to_seq, members, before_tokens,
        after_tokens, round_index, created_at
    from live_folds where session_key = :origin and compact_seq = :fold
"""
_LAST_FOLD = "update live_sessions set last_compact_seq = :fold where id = :key"


class ForkOperations(MessageOperations):
    def fork_session(
        self,
        session_id: str,
        *,
        at: int | None = None,
        new_id: str | None = None,
        title: str | None = None,
    ) -> str:
        """Start a new session that shares the path up to message ``at`` and return its id.

        ``at`` is the head by default.
        """
        fork_id = check_id(new_id) if new_id is not None else new_session_id()
        with self._writing():
            key, branch, head, next_seq = self._lock_row(session_id)
            upto = head if at is None else at
            base = self._base_at(session_id, upto, (branch, head, next_seq))
            settings = self._inherited_settings(session_id, title)
            shared = [] if base[0] is None else self._seqs_from(base)
            folds = self._shared_folds(session_id, key, shared)
            taken = [0, *shared, *(fold.note_seq for fold in folds)]
            if fork_id != session_id:
                self._set_aside(fork_id)
            new = self._create(fork_id, settings, base, head=upto, next_seq=max(taken) + 1)
            if new is None:
                raise SessionExists(fork_id)
            for fold in folds:
                params = {"origin": key, "new": new, "fold": fold.compact_seq}
                self._db.execute(_COPY_FOLD, params)
                self._db.execute(_LAST_FOLD, {"key": new, "fold": fold.compact_seq})
        return fork_id

    def _inherited_settings(self, session_id: str, title: str | None) -> dict[str, Any]:
        origin = self._session(session_id)
        if origin is None:
            raise UnknownLiveSession(session_id)
        names = ("system_prompt", "model", "config", "metadata", "provider", "cwd", "api_base")
        return {
            **{name: getattr(origin, name) for name in names},
            "title": title or origin.title,
            "forked_from": session_id,
            "kind": SessionKind.ROOT,
            "lifecycle": SubagentLifecycle.EPHEMERAL,
            "spawn_depth": 0,
        }

    def _seqs_from(self, base: Base) -> list[int]:
        """The seqs of the shared path."""
        branch, last, at, limit = base
        return self._seqs(list(self._segments_from(branch, (at, last), limit)))

    def _shared_folds(self, session_id: str, key: int, path: list[int]) -> list[CompactionRow]:
        """The folds that apply to the shared path. The fork gets copies of them."""
        return apply_folds(path, self._folds(session_id, key)[0])[1]
