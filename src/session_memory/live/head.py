"""Move the head (the end of the path) of a session. Rewound messages stay in the store."""

from contextlib import suppress

from session_memory.core.live_errors import NothingToUndo, NotOnPath
from session_memory.live.branches import Base
from session_memory.live.connection import now
from session_memory.live.messages import MessageOperations
from session_memory.live.sessions import BRANCH_COLUMNS

_MOVE = """
    update live_sessions set lane_id = :lane, head = :to, updated_at = :now,
        revision = revision + 1
    where id = :key
"""
_MOVES = ("session_key", "kind", "from_lane", "from_head", "to_lane", "to_head", "created_at")
_LAST_MOVE = """
    select id, from_lane, from_head from live_moves
    where session_key = :key and undone_at is null and kind in ('rewind', 'clear', 'return')
    order by id desc limit 1
"""
_UNDONE = "update live_moves set undone_at = :now where id = :id"
_LANES = """
    select l.id from live_lanes l
    where l.session_key = :key
      and not exists (select 1 from live_folds f where f.note_lane = l.id)
    order by l.id desc
"""

SessionPosition = tuple[int, int, int, int]


class HeadOperations(MessageOperations):
    def rewind(
        self, session_id: str, to: int, *, expect: int | None = None, fence: int | None = None
    ) -> int:
        """Move the head back to message ``to`` and return the old head.

        0 means before the first message. Later messages stay in the store, off the path.
        """
        with self._writing():
            state = self._hold(session_id, fence, expect)
            return self._go_to(session_id, state, to, "rewind")

    def clear_session(self, session_id: str, *, fence: int | None = None) -> int:
        """Make the path empty and return the old head. ``undo_rewind`` restores the path."""
        with self._writing():
            return self._go_to(session_id, self._hold(session_id, fence), 0, "clear")

    def return_to(self, session_id: str, seq: int, *, fence: int | None = None) -> int:
        """Move the head to any message of the session, rewound ones too; return the old head."""
        with self._writing():
            state = self._hold(session_id, fence)
            try:
                base = self._base_at(session_id, seq, state[1:])
            except NotOnPath:
                base = self._rewound_base(session_id, state, seq)
            self._go(state, base, seq, "return")
            return state[2]

    def _rewound_base(self, session_id: str, state: SessionPosition, seq: int) -> Base:
        """Return the start of a new branch that continues after a rewound message."""
        key, _, _, next_seq = state
        is_seq = isinstance(seq, int) and not isinstance(seq, bool) and 0 < seq < next_seq
        for (branch,) in self._db.all(_LANES, {"key": key}) if is_seq else ():
            segments = list(self._segments(branch, next_seq, next_seq))
            with suppress(NotOnPath):
                return self._base_of(
                    session_id, segments, self._position_of(session_id, segments, seq)
                )
        raise NotOnPath(session_id, seq)

    def _go_to(self, session_id: str, state: SessionPosition, to: int, kind: str) -> int:
        self._go(state, self._base_at(session_id, to, state[1:]), to, kind)
        return state[2]

    def _go(self, state: SessionPosition, base: Base, to: int, kind: str) -> None:
        key, branch, head, _ = state
        new = self._db.insert_one("live_lanes", BRANCH_COLUMNS, (key, *base))
        self._move(key, (branch, head), (new, to), kind)

    def _move(self, key: int, before: tuple[int, int], after: tuple[int, int], kind: str) -> None:
        at = now()
        self._db.execute(_MOVE, {"key": key, "lane": after[0], "to": after[1], "now": at})
        self._db.insert_one("live_moves", _MOVES, (key, kind, *before, *after, at))

    def undo_rewind(self, session_id: str, *, fence: int | None = None) -> int:
        """Undo the last rewind, clear or return, and return the restored head.

        Messages appended since then go off the path; ``return_to`` can restore them.
        """
        with self._writing():
            key, branch, head, _ = self._hold(session_id, fence)
            last = self._db.one(_LAST_MOVE, {"key": key})
            if last is None:
                raise NothingToUndo(session_id)
            move, old_lane, old_head = last
            self._db.execute(_UNDONE, {"id": move, "now": now()})
            self._move(key, (branch, head), (old_lane, old_head), "undo")
            return int(old_head)
