"""Store which live sessions were imported, and set columns that only an import sets."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep
from session_memory.live.rows import SessionStatus
from session_memory.store.database import Database
from session_memory.store.retention import SESSION, session_key

_COLUMNS = (
    *("session_key", "origin", "parent", "is_collected", "last_seq", "folds", "moves"),
    *("usages", "steps", "digest", "state"),
)
_SELECT = """
    select i.session_key, s.session_id, i.steps, i.digest, i.state, s.status, s.created_at,
        i.last_seq, i.folds, i.moves, i.usages
    from live_imports i join live_sessions s on s.id = i.session_key
"""
# One origin may be imported twice, with two ids. Only the first import is brought up to date.
_OF_ORIGIN = f"{_SELECT} where i.origin = :origin order by i.session_key limit 1"
_OF_KEY = f"{_SELECT} where i.session_key = :key"
_COUNTS = """
    select s.next_seq - 1,
        (select count(*) from live_folds f where f.session_key = s.id),
        (select count(*) from live_moves m where m.session_key = s.id),
        (select count(*) from live_usage u where u.session_key = s.id)
    from live_sessions s where s.id = :key
"""
_UPDATE = """
    update live_imports set last_seq = :last_seq, folds = :folds, moves = :moves,
        usages = :usages, steps = :steps, digest = :digest, state = :state, parent = :parent
    where session_key = :key
"""
_FORGOTTEN = "select 1 from tombstones where kind = :kind and key = :key"
_ORPHANS = """
    select session_id from live_sessions
    where parent_session_id is null and detached_from is null
        and id in (select session_key from live_imports where parent = :origin)
    order by id
"""
_ADOPT = """
    update live_sessions set parent_session_id = :parent, revision = revision + 1
    where session_id = :session
"""
_PARENT = "select parent_session_id from live_sessions where session_id = :session"
_FOLD_TIME = """
    update live_folds set created_at = :at where session_key = :key and compact_seq = :fold
"""
_NOTE_TIME = """
    update live_messages set created_at = :at
    where lane_id = (select note_lane from live_folds
        where session_key = :key and compact_seq = :fold)
"""
_UNFOLD_TIME = """
    update live_folds set undone_at = :at where session_key = :key and compact_seq = :fold
"""
_MOVE_TIME = """
    update live_moves set created_at = :at
    where id = (select max(id) from live_moves where session_key = :key)
"""
_ABOUT = "select title, cwd, model from live_sessions where id = :key"
_REOPEN = "update live_sessions set status = 'active' where id = :key"
_SESSION = """
    update live_sessions set created_at = :created_at, updated_at = :updated_at,
        status = :status, round_index = :round_index, send_index = :send_index,
        revision = revision + 1
    where id = :key
"""
_USAGE = (
    *("session_key", "send_index", "round_index", "prompt_tokens", "completion_tokens"),
    *("total_tokens", "cache_read_tokens", "cache_write_tokens", "model", "created_at"),
)


class ImportState(msgspec.Struct):
    """What an import remembers. Messages of the origin have numbers, those of the session seqs.

    - ``seqs``: number → seq; ``folds``: number → the number of the fold and the seq of its note
    - ``ids``: number → the native id of the origin's record
    - ``places``: seq → the native id of the origin's record there, and its number
    - ``usage``: the names of the model calls whose usage was added; ``at``: the time of the last
      step
    - ``about``: title, directory and model after the import, to notice later changes of them
    """

    seqs: dict[int, int] = {}
    folds: dict[int, tuple[int, int]] = {}
    ids: dict[int, str] = {}
    places: dict[int, tuple[str, int]] = {}
    usage: list[str] = []
    at: int = 0
    about: dict[str, str | None] = {}

    def first_at(self, history: History) -> int | None:
        return next((step.at for step in history.steps if step.at is not None), None)


class Imported(msgspec.Struct, frozen=True):
    """A stored import: its live session, and how many steps of the origin it has.

    ``digest`` is the checksum of these steps. ``status`` is that of the live session. ``state`` is
    what the import remembers for the next import.
    """

    key: int
    session_id: str
    steps: int
    digest: str
    state: ImportState
    status: str
    created_at: int
    counts: tuple[int, int, int, int]
    """The last seq and how many folds, moves and usages there were after the import."""

    @property
    def is_archived(self) -> bool:
        return self.status == SessionStatus.ARCHIVED


class ImportRows:
    """Reads and writes ``live_imports``, inside the caller's transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def of_origin(self, origin: str) -> Imported | None:
        return self._imported(_OF_ORIGIN, {"origin": origin})

    def of_key(self, key: int) -> Imported | None:
        return self._imported(_OF_KEY, {"key": key})

    def _imported(self, sql: str, params: dict[str, Any]) -> Imported | None:
        row = self._db.one(sql, params)
        if row is None:
            return None
        key, session, steps, digest, text, status, created_at, *counts = row
        state = msgspec.json.decode(text, type=ImportState)
        return Imported(key, session, steps, digest, state, status, created_at, tuple(counts))

    def is_forgotten(self, origin: str) -> bool:
        """Whether the user had the session forgotten, so that no import brings it back."""
        known = {"kind": SESSION, "key": session_key(origin)}
        return self._db.one(_FORGOTTEN, known) is not None

    def add(self, key: int, history: History, state: ImportState, *, is_collected: bool) -> None:
        self._db.insert(
            "live_imports",
            _COLUMNS,
            [
                (
                    key,
                    history.origin,
                    history.facts.parent,
                    int(is_collected),
                    *self._counts(key),
                    len(history.steps),
                    digest_of(history.steps),
                    msgspec.json.encode(state).decode(),
                )
            ],
        )

    def update(self, key: int, history: History, state: ImportState) -> None:
        names = ("last_seq", "folds", "moves", "usages")
        values = {
            **dict(zip(names, self._counts(key), strict=True)),
            "key": key,
            "parent": history.facts.parent,
            "steps": len(history.steps),
            "digest": digest_of(history.steps),
            "state": msgspec.json.encode(state).decode(),
        }
        self._db.execute(_UPDATE, values)

    def is_continued(self, known: Imported) -> bool:
        """Whether the live session is closed, or has new messages, folds, moves or usage."""
        is_closed = known.status == SessionStatus.CLOSED
        return is_closed or self._counts(known.key) != known.counts

    def _counts(self, key: int) -> tuple[int, int, int, int]:
        seq, folds, moves, usages = self._db.one(_COUNTS, {"key": key}) or (0, 0, 0, 0)
        return seq, folds, moves, usages

    def adopt(self, origin: str, session_id: str) -> None:
        """Make the session the parent of its subagents that were imported before it.

        A damaged database may say that a session started its own parent; that is ignored.
        """
        above = set(self._above(session_id))
        for (child,) in self._db.all(_ORPHANS, {"origin": origin}):
            if child not in above:
                self._db.execute(_ADOPT, {"session": child, "parent": session_id})

    def _above(self, session_id: str) -> Iterator[str]:
        """Yield the session, its parent, the parent of that one and so on."""
        found: str | None = session_id
        seen: set[str] = set()
        while found is not None and found not in seen:
            seen.add(found)
            yield found
            found = self._db.value(_PARENT, {"session": found})

    def about(self, key: int) -> dict[str, str | None]:
        row = self._db.one(_ABOUT, {"key": key}) or (None, None, None)
        return dict(zip(("title", "cwd", "model"), row, strict=True))

    def reopen(self, key: int) -> None:
        self._db.execute(_REOPEN, {"key": key})

    def set_session(self, key: int, **columns: Any) -> None:
        self._db.execute(_SESSION, {"key": key, **columns})

    def set_fold_time(self, key: int, fold: int, at: int) -> None:
        where = {"key": key, "fold": fold, "at": at}
        self._db.execute(_FOLD_TIME, where)
        self._db.execute(_NOTE_TIME, where)

    def set_unfold_time(self, key: int, fold: int, at: int) -> None:
        self._db.execute(_UNFOLD_TIME, {"key": key, "fold": fold, "at": at})

    def set_move_time(self, key: int, at: int) -> None:
        self._db.execute(_MOVE_TIME, {"key": key, "at": at})

    def add_usage(self, rows: Iterable[Sequence[Any]]) -> None:
        self._db.insert("live_usage", _USAGE, rows)


def digest_of(steps: Iterable[HistoryStep]) -> str:
    """A checksum of a history. It is the same in later releases, which may know more fields."""
    digest = sha256()
    for step in steps:
        match step:
            case MessageStep(number, message):
                words: tuple[Any, ...] = ("message", number, message)
            case FoldStep(number, note):
                words = ("fold", number, note)
            case _:
                words = ("rewind", step.to)
        digest.update(json.dumps(words, sort_keys=True, default=str).encode())
    return digest.hexdigest()
