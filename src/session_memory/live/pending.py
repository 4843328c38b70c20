"""Pending calls, which are calls without a result: find them, repair them, abort them."""

from typing import Any

from session_memory.live.arguments import mapping, whole
from session_memory.live.blocks import calls_in, error_result, pending_in
from session_memory.live.connection import is_usable, now
from session_memory.live.message_encoding import encode_message
from session_memory.live.messages import MessageOperations
from session_memory.live.rows import MessageRow, PendingCall, ResumePlan, SessionStateRow

INTERRUPTED = "The tool did not finish: the run was interrupted before its result was recorded."
ABORTED = "The call was aborted before it finished."

_STATE = """
    select next_seq, round_index, last_compact_seq, lane_id, head from live_sessions
    where session_id = :session
"""
_ROUND = """
    update live_sessions set round_index = :round, updated_at = :now, revision = revision + 1
    where session_id = :session and status = 'active'{guard} returning id
"""


class PendingOperations(MessageOperations):
    def pending(self, session_id: str) -> list[PendingCall]:
        """Every call on the path without a result. Nothing is written."""
        return pending_in(self.load_path(session_id))

    def resume_plan(self, session_id: str) -> ResumePlan:
        """What a runtime does next when it resumes the session.

        ``run_tools`` (the pending calls), ``ask_model`` or ``wait_for_user``.
        """
        path = self.load_path(session_id)
        missing = pending_in(path)
        if missing:
            return ResumePlan(session_id, "run_tools", tuple(missing))
        waits = not path or (path[-1].role == "assistant" and not any(calls_in(path[-1])))
        return ResumePlan(session_id, "wait_for_user" if waits else "ask_model")

    def repair(self, session_id: str, *, fence: int | None = None) -> list[int]:
        """Add an error result for every pending call, right after the message with the call."""
        return self._answer_pending(session_id, INTERRUPTED, fence)

    def abort_pending(
        self, session_id: str, reason: str = ABORTED, *, fence: int | None = None
    ) -> list[int]:
        """Add an error result with ``reason`` for every pending call; return the seqs."""
        return self._answer_pending(session_id, reason, fence)

    def _answer_pending(self, session_id: str, text: str, fence: int | None) -> list[int]:
        with self._writing():
            _, branch, head, _ = self._hold(session_id, fence)
            path = self._path(session_id, list(self._segments(branch, head)))
            missing = pending_in(path)
            if not missing:
                return []
            made = {message.seq: message for message in path}
            _, branch, head, _ = self._advance(session_id, len(missing), fence=fence)
            first, at = head - len(missing) + 1, now()
            self._insert(
                branch,
                first,
                [
                    encode_message(error_result(call, made[call.seq], text), at, call.seq)
                    for call in missing
                ],
            )
        return list(range(first, head + 1))

    def get_state(self, session_id: str) -> SessionStateRow | None:
        if not is_usable(session_id):
            return None
        with self._reading():
            row = self._db.one(_STATE, {"session": session_id})
            if row is None:
                return None
            path = self._path(session_id, list(self._segments(row[3], row[4])))
        return SessionStateRow(
            session_id=session_id,
            next_seq=row[0],
            round_index=row[1],
            last_compact_seq=row[2],
            pending=_as_state(path, pending_in(path)),
        )

    def set_round_index(
        self, session_id: str, round_index: int, *, fence: int | None = None
    ) -> None:
        with self._writing():
            self._change(_ROUND, session_id, fence, round=whole(round_index, "round_index"))

    def set_pending(self, session_id: str, pending: dict[str, Any] | None) -> bool:
        """Compare ``pending`` with the stored messages: True if they agree. Nothing is written.

        Runtimes that keep pending calls themselves can call this; the messages decide.
        """
        if pending is not None:
            mapping(pending, "pending")
        calls = {call.call_id for call in self.pending(session_id)}
        named = (pending or {}).get("tool_call_ids")
        return calls == set(named) if isinstance(named, list) else bool(pending) == bool(calls)


def _as_state(path: list[MessageRow], calls: list[PendingCall]) -> dict[str, Any] | None:
    """Pending calls in the shape that runtimes use for their own state."""
    if not calls:
        return None
    seq = calls[-1].seq
    made = next(message for message in path if message.seq == seq)
    return {
        "assistant_seq": seq,
        "round_index": made.round_index,
        "tool_call_ids": sorted(call.call_id for call in calls),
    }
