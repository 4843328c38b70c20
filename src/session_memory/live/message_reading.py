"""Read messages: the context, the path, everything, the tail or one message."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from session_memory.core.errors import StoreDamaged
from session_memory.core.text import short_repr
from session_memory.live.arguments import whole
from session_memory.live.branches import COLUMNS, BranchReader, Segment
from session_memory.live.connection import decode, from_json, is_usable
from session_memory.live.context import apply_folds
from session_memory.live.rows import CompactionRow, MessageRow, MessageState
from session_memory.store.database import Row
from session_memory.store.zstandard import zstd

_HEAD = "select id, lane_id, head from live_sessions where session_id = :session"
OF_SESSION = f"""
    select {", ".join(COLUMNS)} from live_messages
    where lane_id in (select id from live_lanes where session_key = :key) and seq > :after
    order by seq
"""
_ANY = f"""
    select {", ".join(COLUMNS)} from live_messages
    where lane_id in (select id from live_lanes where session_key = :key) and seq = :seq
"""
_IN_LANE = f"select {', '.join(COLUMNS)} from live_messages where lane_id = :lane and seq = :seq"
_FIND_BODY = "select body from live_bodies where hash = :hash"
_FOLDS = """
    select compact_seq, note_seq, from_seq, to_seq, before_tokens, after_tokens, round_index,
           created_at, members, undone_at, note_lane
    from live_folds where session_key = :key order by compact_seq
"""


class MessageReader(BranchReader):
    def load_active_messages(self, session_id: str) -> list[MessageRow]:
        """Return the context, which is what the model is sent: the path with folds applied."""
        with self._reading():
            return self._context(session_id)

    def load_path(self, session_id: str) -> list[MessageRow]:
        """Return every message from the first to the head: folded ones too, but no notes."""
        with self._reading():
            _, branch, head = self._position(session_id)
            return self._path(session_id, list(self._segments(branch, head)))

    def load_all_messages(self, session_id: str) -> list[MessageRow]:
        """Return every message that was ever appended or inherited, in the order of seqs.

        ``state`` says whether it is in the context, folded, or rewound.
        """
        with self._reading():
            key, branch, head = self._position(session_id)
            path = self._path(session_id, list(self._segments(branch, head)))
            folds, notes = self._folds(session_id, key)
            rows = self._db.all(OF_SESSION, {"key": key, "after": 0})
            rows += self._rows(self._inherited(key))
            every = {m.seq: m for m in (*self._messages(session_id, rows), *notes.values(), *path)}
        on_path = [message.seq for message in path]
        order, in_force = apply_folds(on_path, folds)
        folded = {*on_path, *(fold.note_seq for fold in in_force)}.difference(order)
        for seq in every.keys() - order:
            state = MessageState.COMPACTED_OUT if seq in folded else MessageState.REWOUND
            every[seq].state = state
        return [every[seq] for seq in sorted(every)]

    def load_tail(self, session_id: str, count: int = 50) -> list[MessageRow]:
        """The last ``count`` messages of the path. A long path costs no more than a short one."""
        whole(count, "count")
        with self._reading():
            _, branch, head = self._position(session_id)
            return self._messages(session_id, self._last_rows(self._segments(branch, head), count))

    def get_message(self, session_id: str, seq: int) -> MessageRow | None:
        """One message of the session or of its inherited past, rewound or not; None if unknown."""
        if not is_usable(session_id) or not isinstance(seq, int) or not 0 < seq < 2**63:
            return None
        with self._reading():
            found = self._db.one(_HEAD, {"session": session_id})
            return None if found is None else self._one(session_id, seq, found)

    def _one(self, session_id: str, seq: int, session: Row) -> MessageRow | None:
        key, branch, head = session
        segments = list(self._segments(branch, head))
        folds, notes = self._folds(session_id, key)
        row = self._on_path(iter(segments), seq)
        state = MessageState.REWOUND if row is None else MessageState.ACTIVE
        if folds:
            order, in_force = apply_folds(self._seqs(segments), folds)
            if seq in order:
                state = MessageState.ACTIVE
            elif row is not None or seq in {fold.note_seq for fold in in_force}:
                state = MessageState.COMPACTED_OUT
        if row is None and seq not in notes:
            row = self._db.one(_ANY, {"key": key, "seq": seq})
            row = row or self._on_path(iter(self._inherited(key)), seq)
        message = notes.get(seq) if row is None else self._message(session_id, row)
        if message is not None:
            message.state = state
        return message

    def head(self, session_id: str) -> int:
        """The seq of the last message of the path; 0 if the path is empty."""
        with self._reading():
            return self._position(session_id)[2]

    def _position(self, session_id: str) -> tuple[int, int, int]:
        """``(session key, branch, head)`` of a session."""
        found = self._db.one(_HEAD, {"session": session_id}) if is_usable(session_id) else None
        if found is None:
            raise self._unknown(session_id)
        return found[0], found[1], found[2]

    def _path(self, session_id: str, segments: Sequence[Segment]) -> list[MessageRow]:
        return self._messages(session_id, self._rows(segments))

    def _context(self, session_id: str) -> list[MessageRow]:
        """The messages that the model is sent: the path, with notes for folded messages.

        The folded messages are not read.
        """
        key, branch, head = self._position(session_id)
        segments = list(self._segments(branch, head))
        folds, notes = self._folds(session_id, key)
        if not folds:
            return self._path(session_id, segments)
        seqs = self._seqs(segments)
        order, _ = apply_folds(seqs, folds)
        hidden = set(seqs).difference(order)
        rows = self._rows_without(segments, hidden)
        messages = {**notes, **{m.seq: m for m in self._messages(session_id, rows)}}
        return [messages[seq] for seq in order]

    def _folds(
        self, session_id: str, key: int
    ) -> tuple[list[CompactionRow], dict[int, MessageRow]]:
        """Every fold of the session in order, and their notes by seq."""
        folds, notes = [], {}
        for row in self._db.all(_FOLDS, {"key": key}):
            folds.append(to_fold(session_id, row))
            note = self._db.one(_IN_LANE, {"lane": row[10], "seq": row[1]})
            if note is None:
                raise StoreDamaged(f"session {short_repr(session_id)}", f"note {row[1]} is missing")
            notes[row[1]] = self._message(session_id, note)
        return folds, notes

    def _messages(self, session_id: str, rows: Sequence[Row]) -> list[MessageRow]:
        try:
            return self._decoded_rows(session_id, rows, decode)
        except msgspec.DecodeError:
            # msgspec refuses lone surrogates and NaN; the slower decoder reads them.
            return self._decoded_rows(session_id, rows, from_json)

    def _decoded_rows(
        self, session_id: str, rows: Sequence[Row], load: Callable[[str], Any]
    ) -> list[MessageRow]:
        """Make the messages. No helper functions: a context may have tens of thousands of rows."""
        make, active = MessageRow, MessageState.ACTIVE
        made = []
        for row in rows:
            seq, after, role, name, content, blocks, calls, call, number, meta, body, at = row
            if blocks is not None:
                content = load(blocks)
            if calls is not None:
                calls = load(calls)
            if body is not None:
                content, calls = self._unspilled(body)
            more = {} if meta is None else load(meta)
            # fmt: off
            made.append(make(
                session_id, seq, role, name, content, calls, call, number, active, more, at, after
            ))
            # fmt: on
        return made

    def _message(self, session_id: str, row: Row) -> MessageRow:
        return self._messages(session_id, [row])[0]

    def _unspilled(self, digest: bytes) -> tuple[Any, Any]:
        packed = self._db.value(_FIND_BODY, {"hash": digest})
        if packed is None:
            raise StoreDamaged(f"body {digest.hex()[:12]}", "its row is missing")
        content, calls = from_json(zstd.decompress(packed))
        return content, calls


def to_fold(session_id: str, row: Row) -> CompactionRow:
    return CompactionRow(
        session_id=session_id,
        compact_seq=row[0],
        note_seq=row[1],
        from_seq=row[2],
        to_seq=row[3],
        before_tokens=row[4],
        after_tokens=row[5],
        round_index=row[6],
        created_at=row[7],
        members=from_json(row[8]),
        is_undone=row[9] is not None,
    )
