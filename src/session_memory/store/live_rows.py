"""Read the rows of live sessions as an ordered list of lines, because they have no log files."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from session_memory.store.database import Database, Row
from session_memory.store.live_imports import LiveImports, ordinal_of
from session_memory.store.live_lines import MOVES, LineWriter, decoded
from session_memory.store.live_order import LiveItem, in_order, item_at

_HEADS = """
    select s.session_id, s.revision,
        coalesce((select max(u.id) from live_usage u where u.session_key = s.id), 0)
    from live_sessions s order by s.id
"""
_ABOUT_COLUMNS = (
    *("session_id", "created_at", "model", "kind", "parent_session_id", "spawn_tool_call_id"),
    *("spawn_depth", "title", "cwd", "provider", "forked_from", "forked_at"),
)
_ABOUT = f"""
    select {", ".join(_ABOUT_COLUMNS)}, metadata
    from live_sessions s join live_settings t on t.session_key = s.id
    where session_id = :session
"""
_KEY = "select id, model, created_at from live_sessions where session_id = :session"
# When the id of a closed session is used again, the closed session is renamed. This finds the
# session that had an id before, by the beginning of its new name. Of several such sessions, it is
# the latest that had begun by the time ``:at``.
_SET_ASIDE = """
    select id, model, created_at from live_sessions
    where substr(session_id, 1, cast(:length as integer)) = :beginning and created_at <= :at
    order by created_at desc, id desc limit 1
"""
# The note of a fold is in a lane of its own. It is part of the fold, not a message of the session.
_SEQS = """
    select m.seq, m.lane_id, m.created_at from live_messages m
    join live_lanes l on l.id = m.lane_id
    where l.session_key = :key
        and not exists (select 1 from live_folds f where f.note_lane = l.id)
    order by m.seq
"""
# A fork also has the folds of the session that it continues. Their notes belong to that session.
_FOLDS = """
    select f.compact_seq, f.note_seq, f.created_at from live_folds f
    join live_lanes l on l.id = f.note_lane
    where f.session_key = :key and l.session_key = :key order by f.compact_seq
"""
_USAGE_TIMES = "select created_at from live_usage where session_key = :key order by id"
_FIRST_LANE = "select min(id) from live_lanes where session_key = :key"


# A closed session whose id was used again is called ``<id>@closed-<number>``. With the number, it
# has at most 200 characters.
CLOSED = "@closed-"
LONGEST_KEPT_ID = 150


def cwd_in(metadata: Any) -> str | None:
    """The directory that a runtime put into a session's metadata."""
    cwd = metadata.get("cwd") if isinstance(metadata, dict) else None
    return cwd if isinstance(cwd, str) and cwd else None


class LiveHead(NamedTuple):
    """The state of a session. If both numbers are unchanged, nothing was written to it."""

    session_id: str
    revision: int
    last_usage: int


class LiveRows:
    """Reads live sessions. It never writes."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._imports = LiveImports(db)

    def heads(self) -> list[LiveHead]:
        return [LiveHead(*row) for row in self._db.all(_HEADS)]

    def about(self, session_id: str) -> dict[str, Any] | None:
        """The row of a live session: title, model and so on. None if there is no such session."""
        row = self._db.one(_ABOUT, {"session": session_id})
        if row is None:
            return None
        about = dict(zip(_ABOUT_COLUMNS, row[:-1], strict=True))
        if not about["cwd"]:
            about["cwd"] = cwd_in(decoded(row[-1]))
        return about | self._origins(about)

    def _origins(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the values of `about` that differ because the session or its parent was
        imported."""
        found: dict[str, Any] = {}
        own = self._imports.of_name(about["session_id"])
        if own is not None and own.is_collected:
            # These values were copied from the origin, whose own log has them.
            taken = own.about.items()
            found |= {name: None for name, value in taken if about[name] == value}
            return found | dict.fromkeys(("parent_session_id", "forked_from"))
        parent = self._imports.of_name(about["forked_from"] or about["parent_session_id"])
        if parent is not None:
            found["parent_uid"] = parent.origin
            if about["forked_from"]:
                found["forked_at"] = ordinal_of(parent, about["forked_at"] or 0)
        return found

    def order(self, session_id: str) -> list[LiveItem]:
        """Every row of a session, in order. Rows that repeat a collected origin are left out."""
        key = self._key(session_id)
        if key is None:
            return []
        where = {"key": key[0]}
        items = in_order(
            self._db.value(_FIRST_LANE, where) or 0,
            self._db.all(_SEQS, where),
            self._db.all(_FOLDS, where),
            self._db.all(MOVES, where),
            [row[0] for row in self._db.all(_USAGE_TIMES, where)],
        )
        return self._imports.not_collected(key[0], items)

    def lines(self, session_id: str, items: Sequence[LiveItem]) -> Iterator[tuple[LiveItem, bytes]]:
        """The given items with their lines, in the given order. Missing items are left out."""
        key = self._key(session_id)
        if key is None or not items:
            return
        lines = dict(LineWriter(self._db, session_id, *key[:2]).lines(items))
        for item in items:
            if item in lines:
                yield item, lines[item]

    def line_at(self, session_id: str, place: int, began_at: int | None = None) -> bytes:
        """The line of the item at ``place``. Empty if there is none.

        ``began_at`` is the time of the session's first row. If another session got the id later,
        the line is from the one that had the id at that time.
        """
        key = self._key(session_id)
        if key is not None and began_at is not None and key[2] > began_at:
            beginning = f"{session_id[:LONGEST_KEPT_ID]}{CLOSED}"
            then = {"beginning": beginning, "length": len(beginning), "at": began_at}
            # If the clock was set back meanwhile, there may be no such session. Then the session
            # that has the id now is used.
            key = self._db.one(_SET_ASIDE, then) or key
        if key is None:
            return b""
        writer = LineWriter(self._db, session_id, *key[:2])
        return next((line for _, line in writer.lines([item_at(place)])), b"")

    def _key(self, session_id: str) -> Row | None:
        return self._db.one(_KEY, {"session": session_id})
