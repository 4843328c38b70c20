"""Pending calls, which are calls without a result: find them, repair them, abort them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from session_memory.core.text import escaped
from session_memory.live.arguments import mapping, whole
from session_memory.live.blocks import call_entries, calls_in, error_result, pending_in
from session_memory.live.connection import from_json, is_usable, now, to_json
from session_memory.live.message_encoding import encode_message
from session_memory.live.messages import MessageOperations
from session_memory.live.rows import MessageRow, PendingCall, ResumePlan, SessionStateRow
from session_memory.live.shapes import flat_call
from session_memory.live.tail import TailReader

INTERRUPTED = "The tool did not finish: the run was interrupted before its result was recorded."
ABORTED = "The call was aborted before it finished."

_STATE = """
    select next_seq, round_index, last_compact_seq, lane_id, head, pending, pending_seq
    from live_sessions s join live_settings t on t.session_key = s.id
    where session_id = :session
"""
_ROUND = """
    update live_sessions set round_index = :round, updated_at = :now, revision = revision + 1
    where session_id = :session and status = 'active'{guard} returning id
"""
_SET_PENDING = """
    update live_settings set pending = :pending, pending_seq = :seq where session_key = :key
"""
# `get_state` makes these fields from the messages. Of the argument of `set_pending`, only other
# fields are stored.
_DERIVED = ("assistant_seq", "round_index", "tool_call_ids", "tool_calls")

StoredPending = tuple[str | None, int | None]


class PendingOperations(MessageOperations, TailReader):
    def pending(self, session_id: str) -> list[PendingCall]:
        """Every call on the path without a result. Nothing is written."""
        return pending_in(self.load_path(session_id))

    def resume_plan(self, session_id: str) -> ResumePlan:
        """Return what a runtime does next when it resumes the session.

        That is ``run_tools`` (with the pending calls), ``ask_model`` or ``wait_for_user``.
        """
        with self._reading():
            _, branch, head = self._position(session_id)
            tail = self._tail(session_id, branch, head)
        missing = pending_in(tail)
        if missing:
            return ResumePlan(session_id, "run_tools", tuple(missing))
        waits = not tail or (tail[-1].role == "assistant" and not any(calls_in(tail[-1])))
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
        """Return the counters of a session and its pending calls; None if it does not exist.

        ``pending`` describes the calls without a result: ``assistant_seq``, ``round_index``,
        ``tool_call_ids`` and ``tool_calls`` (in the shape of chat completions), and what
        `set_pending` was given. It is None if nothing is pending.
        """
        if not is_usable(session_id):
            return None
        with self._reading():
            row = self._db.one(_STATE, {"session": session_id})
            if row is None:
                return None
            tail = self._tail(session_id, row[3], row[4])
        return SessionStateRow(
            session_id=session_id,
            next_seq=row[0],
            round_index=row[1],
            last_compact_seq=row[2],
            pending=_as_state(tail, (row[5], row[6])),
        )

    def set_round_index(
        self, session_id: str, round_index: int, *, fence: int | None = None
    ) -> None:
        with self._writing():
            self._change(_ROUND, session_id, fence, round=whole(round_index, "round_index"))

    def set_pending(
        self, session_id: str, pending: dict[str, Any] | None, *, fence: int | None = None
    ) -> bool:
        """Store what a runtime says about its pending calls. True if the messages agree with it.

        The messages decide which calls are pending, so only further fields are stored. A value that
        names calls of the session holds until they have results. Any other value holds until
        `set_pending` is called again.
        """
        if pending is not None:
            mapping(pending, "pending")
        with self._reading():
            _, branch, head = self._position(session_id)
            tail = self._tail(session_id, branch, head)
            is_stored = self._stored_pending(session_id) == _to_store(tail, pending)
        if not is_stored:
            with self._writing():
                key, branch, head, _ = self._hold(session_id, fence)
                tail = self._tail(session_id, branch, head)
                value, seq = _to_store(tail, pending)
                self._db.execute(_SET_PENDING, {"key": key, "pending": value, "seq": seq})
        calls = {call.call_id for call in pending_in(tail)}
        named = _named(pending or {})
        return calls == named if named else bool(pending) == bool(calls)

    def _stored_pending(self, session_id: str) -> StoredPending:
        row = self._db.one(_STATE, {"session": session_id}) or (None,) * 7
        return row[5], row[6]


def _named(pending: Any) -> set[str]:
    """Return the ids of the calls that the argument of `set_pending` names."""
    ids, calls = pending.get("tool_call_ids"), pending.get("tool_calls")
    named = list(ids) if isinstance(ids, list | tuple) else []
    for call in calls if isinstance(calls, list | tuple) else ():
        named.append((call.get("id") or "") if isinstance(call, dict) else None)
    return {escaped(call_id) for call_id in named if isinstance(call_id, str)}


def _to_store(tail: Sequence[MessageRow], pending: Any) -> StoredPending:
    """Return what to store of `set_pending`'s argument, and the seq of the last call that it
    names."""
    if not pending:
        return None, None
    made = {call.call_id: call.seq for message in tail for call in calls_in(message)}
    named = _named(pending)
    if not named or not named <= made.keys():
        return to_json(pending, "pending"), None
    rest = {name: value for name, value in pending.items() if name not in _DERIVED}
    if not rest:
        return None, None
    return to_json(rest, "pending"), max(made[call_id] for call_id in named)


def _as_state(tail: Sequence[MessageRow], stored: StoredPending) -> dict[str, Any] | None:
    """Pending calls in the shape that runtimes use, with what `set_pending` stored."""
    calls = pending_in(tail)
    value, seq = stored
    state: dict[str, Any] | None = None
    if value is not None and (seq is None or seq in {call.seq for call in calls}):
        state = from_json(value)
    if not calls:
        return state
    last = next(message for message in tail if message.seq == calls[-1].seq)
    return {
        **(state or {}),
        "assistant_seq": last.seq,
        "round_index": last.round_index,
        "tool_call_ids": [call.call_id for call in calls],
        "tool_calls": _entries(tail, calls),
    }


def _entries(tail: Sequence[MessageRow], calls: Sequence[PendingCall]) -> list[dict[str, Any]]:
    """The pending calls as entries of ``tool_calls``, in order."""
    # A result answers the oldest call with its id. So of several calls with one id, the last ones
    # are pending.
    left = Counter((call.seq, call.call_id) for call in calls)
    entries = []
    for call, entry in reversed([pair for message in tail for pair in call_entries(message)]):
        if left[call.seq, call.call_id]:
            left[call.seq, call.call_id] -= 1
            entries.append(flat_call(entry) if entry.get("type") == "tool_use" else entry)
    return entries[::-1]
