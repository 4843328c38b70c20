"""Replace messages by a note (fold them), and undo it. Folded messages stay in the store."""

from collections.abc import Sequence
from typing import Any

from session_memory.core.live_errors import CannotFold, CannotUnfold
from session_memory.live.arguments import mapping, whole
from session_memory.live.compaction import (
    KEPT_EXCHANGES,
    CompactionPlan,
    plan_compaction,
    splits_a_call,
    whole_calls,
)
from session_memory.live.connection import now, to_json
from session_memory.live.context import apply_folds
from session_memory.live.message_encoding import encode_message
from session_memory.live.messages import MessageOperations
from session_memory.live.rows import CompactionRow, MessageRow
from session_memory.live.sessions import BRANCH_COLUMNS, NO_BASE

_TAKE_SEQS = """
    update live_sessions
    set next_seq = next_seq + 1, last_compact_seq = last_compact_seq + 1, updated_at = :now,
        revision = revision + 1
    where id = :key returning last_compact_seq
"""
_TOUCH = "update live_sessions set updated_at = :now, revision = revision + 1 where id = :key"
_UNDO = """
    update live_folds set undone_at = :now where session_key = :key and compact_seq = :fold
"""
_COLUMNS = (
    "session_key",
    "compact_seq",
    "note_lane",
    "note_seq",
    "from_seq",
    "to_seq",
    "members",
    "before_tokens",
    "after_tokens",
    "round_index",
    "created_at",
)


class FoldOperations(MessageOperations):
    def plan_compaction(self, session_id: str, keep: int = KEPT_EXCHANGES) -> CompactionPlan:
        """Return which messages to fold so that the last ``keep`` exchanges stay in the context."""
        return plan_compaction(self.load_active_messages(session_id), keep)

    def record_compaction(
        self,
        session_id: str,
        *,
        from_seq: int,
        to_seq: int,
        note_content: str,
        before_tokens: int | None = None,
        after_tokens: int | None = None,
        round_index: int | None = None,
        note_meta: dict[str, Any] | None = None,
        members: Sequence[int] | None = None,
        expect: int | None = None,
        fence: int | None = None,
    ) -> tuple[int, int]:
        """Replace the context's messages from ``from_seq`` to ``to_seq`` by a note.

        ``members`` lists the messages to fold if some in between stay, such as instructions.
        Without it, a call is folded only together with its result. If only one of the two is in
        the range, both stay in the context. If the range holds nothing else, both are folded. If
        ``from_seq`` or ``to_seq`` is folded already, the range begins or ends with its note.
        Messages that others append meanwhile are not folded. Returns ``(compact_seq, note_seq)``.
        """
        for field, tokens in (("before_tokens", before_tokens), ("after_tokens", after_tokens)):
            if tokens is not None:
                whole(tokens, field)
        meta = {
            **(mapping(note_meta, "note_meta") if note_meta else {}),
            "compacted_at_round": round_index,
            "from_seq": from_seq,
            "to_seq": to_seq,
            "original_tokens": before_tokens,
            "summary_tokens": after_tokens,
        }
        note = {"role": "system", "name": "compact_note", "content": note_content, "meta": meta}
        at = now()
        row = encode_message({**note, "round_index": round_index}, at)
        figures = (before_tokens, after_tokens, round_index, at)
        with self._writing():
            key, _, _, note_seq = self._hold(session_id, fence, expect)
            seen = self._context(session_id)
            if members is None:
                shown = self._shown_as(session_id, [message.seq for message in seen])
                first, last = (
                    shown.get(whole(seq, field), seq)
                    for seq, field in ((from_seq, "from_seq"), (to_seq, "to_seq"))
                )
                folded = _foldable(session_id, seen, _between(session_id, seen, first, last))
            else:
                folded = _members(session_id, seen, from_seq, to_seq, members)
            fold = int(self._db.value(_TAKE_SEQS, {"key": key, "now": at}))
            # The note gets a branch of its own, because it is not at the end of the path.
            branch = self._db.insert_one("live_lanes", BRANCH_COLUMNS, (key, *NO_BASE))
            self._insert(branch, note_seq, [row])
            first, last = folded[0], folded[-1]
            values = (key, fold, branch, note_seq, first, last, to_json(folded, "members"))
            self._db.insert_one("live_folds", _COLUMNS, (*values, *figures))
        return fold, note_seq

    def _shown_as(self, session_id: str, order: Sequence[int]) -> dict[int, int]:
        """Map each folded message to the note that stands for it in the context, by their seqs."""
        key, branch, head = self._position(session_id)
        path = self._seqs(list(self._segments(branch, head)))
        _, in_force = apply_folds(path, self._folds(session_id, key)[0])
        shown = {seq: seq for seq in order}
        for fold in reversed(in_force):
            note = shown.get(fold.note_seq, fold.note_seq)
            shown |= dict.fromkeys(fold.members, note)
        return shown

    def undo_compaction(
        self, session_id: str, compact_seq: int | None = None, *, fence: int | None = None
    ) -> int:
        """Undo a fold, by default the last one that applies, and return its compact_seq.

        If another fold contains this fold's note, undo that one first.
        """
        with self._writing():
            key, branch, head, _ = self._hold(session_id, fence)
            folds = self._folds(session_id, key)[0]
            _, in_force = apply_folds(self._seqs(list(self._segments(branch, head))), folds)
            fold = _unfoldable(session_id, in_force, compact_seq)
            at = now()
            self._db.execute(_UNDO, {"key": key, "fold": fold, "now": at})
            self._db.execute(_TOUCH, {"key": key, "now": at})
        return fold

    def list_compactions(self, session_id: str) -> list[CompactionRow]:
        """Every fold of the session. Undone folds have ``is_undone`` set."""
        with self._reading():
            return self._folds(session_id, self._position(session_id)[0])[0]


def _between(session_id: str, seen: Sequence[MessageRow], from_seq: int, to_seq: int) -> list[int]:
    """Return the seqs of the context from message ``from_seq`` to message ``to_seq``."""
    order = [message.seq for message in seen]
    if from_seq not in order or to_seq not in order:
        ends = f"message {from_seq} or message {to_seq}"
        raise CannotFold(session_id, f"{ends} is not in the context")
    first, last = order.index(from_seq), order.index(to_seq)
    if first > last:
        raise CannotFold(session_id, f"message {from_seq} comes after message {to_seq}")
    return order[first : last + 1]


def _foldable(session_id: str, seen: Sequence[MessageRow], between: Sequence[int]) -> list[int]:
    """Return the seqs to fold of the range ``between``. A call is folded only with its result.

    If only one of the two is in the range, both stay. If nothing else in the range can be folded,
    the missing one is folded too, although it is outside of the range.
    """
    folded = whole_calls(seen, set(between))
    if not folded:
        raise CannotFold(session_id, "it would separate a call from its result")
    return [message.seq for message in seen if message.seq in folded]


def _members(
    session_id: str,
    seen: Sequence[MessageRow],
    from_seq: int,
    to_seq: int,
    members: Sequence[int],
) -> list[int]:
    """Return ``members`` in order; raises `CannotFold` if they cannot be folded."""
    between = _between(session_id, seen, from_seq, to_seq)
    folded = set(members)
    if not folded <= set(between) or not {from_seq, to_seq} <= folded:
        ends = f"start with message {from_seq} and end with message {to_seq}"
        raise CannotFold(session_id, f"members must {ends}")
    if splits_a_call(seen, folded):
        raise CannotFold(session_id, "it would separate a call from its result")
    return [seq for seq in between if seq in folded]


def _unfoldable(session_id: str, in_force: Sequence[CompactionRow], asked: int | None) -> int:
    """The compact_seq of the fold to undo; raises `CannotUnfold` if that is not possible."""
    known = {fold.compact_seq: fold for fold in in_force}
    number = max(known, default=None) if asked is None else whole(asked, "compact_seq")
    if number is None or number not in known:
        reason = "there is none" if not known else "it was undone or is not on the path"
        raise CannotUnfold(session_id, asked, reason)
    for fold in in_force:
        if known[number].note_seq in fold.members:
            raise CannotUnfold(session_id, number, f"fold {fold.compact_seq} contains its note")
    return number
