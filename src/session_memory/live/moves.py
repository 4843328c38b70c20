"""Moving the head: rewind, clear, return, fork; each can be undone, for nothing is overwritten."""

from contextlib import suppress
from typing import Any

from session_memory.core.errors import NothingToUndo, NotOnPath, SessionExists, UnknownLiveSession
from session_memory.live.base import check_id, now
from session_memory.live.context import arranged
from session_memory.live.lanes import Base
from session_memory.live.messages import Messages
from session_memory.live.rows import CompactionRow, SessionKind, SubagentLifecycle
from session_memory.live.sessions import LANE, new_session_id

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
_COPY_FOLD = """
    insert into live_folds (session_key, compact_seq, note_lane, note_seq, from_seq, to_seq,
        members, before_tokens, after_tokens, round_index, created_at)
    select :new, compact_seq, note_lane, note_seq, from_seq, to_seq, members, before_tokens,
        after_tokens, round_index, created_at
    from live_folds where session_key = :origin and compact_seq = :fold
"""
_LAST_FOLD = "update live_sessions set last_compact_seq = :fold where id = :key"

Where = tuple[int, int, int, int]


class Moves(Messages):
    def rewind(
        self, session_id: str, to: int, *, expect: int | None = None, fence: int | None = None
    ) -> int:
        """Move the head back to message ``to``. What came later stays stored, off the path.

        0 goes back to before the first message. Gives the head that was left.
        """
        with self._writing():
            where = self._hold(session_id, fence, expect)
            return self._go_to(session_id, where, to, "rewind")

    def clear_session(self, session_id: str, *, fence: int | None = None) -> int:
        """An empty path; everything stays stored, and ``undo_rewind`` brings it back."""
        with self._writing():
            return self._go_to(session_id, self._hold(session_id, fence), 0, "clear")

    def return_to(self, session_id: str, seq: int, *, fence: int | None = None) -> int:
        """Move the head to any message of the session, also to one that a rewind left behind."""
        with self._writing():
            where = self._hold(session_id, fence)
            try:
                base = self._base_at(session_id, seq, where[1:])
            except NotOnPath:
                base = self._left_behind(session_id, where, seq)
            self._go(where, base, seq, "return")
            return where[2]

    def _left_behind(self, session_id: str, where: Where, seq: int) -> Base:
        """The newest way to the message that the session ever went."""
        key, _, _, next_seq = where
        is_seq = isinstance(seq, int) and not isinstance(seq, bool) and 0 < seq < next_seq
        for (lane,) in self._db.all(_LANES, {"key": key}) if is_seq else ():
            cuts = list(self._cuts(lane, next_seq, next_seq))
            with suppress(NotOnPath):
                return self._base_of(session_id, cuts, self._place_of(session_id, cuts, seq))
        raise NotOnPath(session_id, seq)

    def _go_to(self, session_id: str, where: Where, to: int, kind: str) -> int:
        self._go(where, self._base_at(session_id, to, where[1:]), to, kind)
        return where[2]

    def _go(self, where: Where, base: Base, to: int, kind: str) -> None:
        key, lane, head, _ = where
        new = self._db.insert_one("live_lanes", LANE, (key, *base))
        self._move(key, (lane, head), (new, to), kind)

    def _move(self, key: int, before: tuple[int, int], after: tuple[int, int], kind: str) -> None:
        at = now()
        self._db.execute(_MOVE, {"key": key, "lane": after[0], "to": after[1], "now": at})
        self._db.insert_one("live_moves", _MOVES, (key, kind, *before, *after, at))

    def undo_rewind(self, session_id: str, *, fence: int | None = None) -> int:
        """Back to where the session stood before its last rewind, clear or return; the head now.

        What was appended since then is left behind in its turn: ``return_to`` finds it.
        """
        with self._writing():
            key, lane, head, _ = self._hold(session_id, fence)
            last = self._db.one(_LAST_MOVE, {"key": key})
            if last is None:
                raise NothingToUndo(session_id)
            move, old_lane, old_head = last
            self._db.execute(_UNDONE, {"id": move, "now": now()})
            self._move(key, (lane, head), (old_lane, old_head), "undo")
            return int(old_head)

    # ------------------------------------------------------------ fork

    def fork_session(
        self,
        session_id: str,
        *,
        at: int | None = None,
        new_id: str | None = None,
        title: str | None = None,
    ) -> str:
        """A new session that shares the other's past up to message ``at`` (its head); its id."""
        wanted = check_id(new_id) if new_id is not None else new_session_id()
        with self._writing():
            key, lane, head, next_seq = self._lock_row(session_id)
            upto = head if at is None else at
            base = self._base_at(session_id, upto, (lane, head, next_seq))
            told = self._told_by(session_id, title)
            shared = [] if base[0] is None else self._seqs_from(base)
            folds = self._shared_folds(session_id, key, shared)
            taken = [0, *shared, *(fold.note_seq for fold in folds)]
            new = self._create(wanted, told, base, head=upto, next_seq=max(taken) + 1)
            if new is None:
                raise SessionExists(wanted)
            for fold in folds:
                told = {"origin": key, "new": new, "fold": fold.compact_seq}
                self._db.execute(_COPY_FOLD, told)
                self._db.execute(_LAST_FOLD, {"key": new, "fold": fold.compact_seq})
        return wanted

    def _told_by(self, session_id: str, title: str | None) -> dict[str, Any]:
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
        """The seqs of a path that ends with a base."""
        lane, last, at, limit = base
        return self._seqs(list(self._cuts_from(lane, (at, last), limit)))

    def _shared_folds(self, session_id: str, key: int, path: list[int]) -> list[CompactionRow]:
        """The folds that apply to the shared past: from here on each session has its own."""
        return arranged(path, self._folds(session_id, key)[0])[1]
