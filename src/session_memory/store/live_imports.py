"""Live sessions that were imported from another runtime, as the collector sees them.

An imported session and its origin are one session: the rows of the imported session are a second
log of the origin. The rows that the import wrote repeat the origin's own log. Once that log is
collected, the collector leaves these rows out.
"""

from functools import cached_property
from typing import Any

import msgspec

from session_memory.store.database import Database, Row
from session_memory.store.live_order import FOLD, MESSAGE, MOVE, USAGE, LiveItem

# Records of the origin count from 0. Rows of the live session come after all of them.
FIRST_ORDINAL = 1 << 40
_SELECT = """
    select i.session_key, i.origin, i.is_collected, i.last_seq, i.folds, i.moves, i.usages
    from live_imports i
"""
_STATE = "select state from live_imports where session_key = :key"
_OF_KEY = f"{_SELECT} where i.session_key = :key"
_OF_NAME = f"{_SELECT} join live_sessions s on s.id = i.session_key where s.session_id = :session"
# The origin is collected if a log of it was read. A source without a host is no such log: it is
# made of the rows of a live session.
_NEWLY_COLLECTED = """
    select i.session_key from live_imports i
    where i.is_collected = 0 and exists (
        select 1 from sessions c
        join session_sources l on l.session_id = c.id
        join sources o on o.id = l.source_id
        where c.uid = i.origin and o.host <> '' and o.role <> 'document')
"""
_SET_COLLECTED = """
    update live_imports set is_collected = 1 where session_key = :key
"""
_TOUCH = "update live_sessions set revision = revision + 1 where id = :key"
_NAMES = """
    select s.session_id from live_imports i join live_sessions s on s.id = i.session_key
    where i.origin = :origin order by s.session_id
"""
_ANY = "select 1 from live_imports limit 1"


class _State(msgspec.Struct):
    places: dict[int, tuple[str, int]] = {}
    about: dict[str, str | None] = {}


class SessionImport:
    """A live session that was imported from the session ``origin``.

    ``written`` has the last number of each kind of row that the import wrote. ``places`` are loaded
    when they are needed, because most rows need none.
    """

    def __init__(self, db: Database, row: Row) -> None:
        self._db = db
        self.key, self.origin, is_collected, *written = row
        self.is_collected = bool(is_collected)
        self.written = dict(zip((MESSAGE, FOLD, MOVE, USAGE), written, strict=True))

    @cached_property
    def _state(self) -> _State:
        return msgspec.json.decode(self._db.value(_STATE, {"key": self.key}), type=_State)

    @property
    def places(self) -> dict[int, tuple[str, int]]:
        return self._state.places

    @property
    def about(self) -> dict[str, str | None]:
        return self._state.about


class LiveImports:
    """Reads the imports of a store. Only `note_collected` writes."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def of_key(self, key: int) -> SessionImport | None:
        return self._import(_OF_KEY, {"key": key})

    def of_name(self, session_id: str | None) -> SessionImport | None:
        if session_id is None:
            return None
        return self._import(_OF_NAME, {"session": session_id})

    def _import(self, sql: str, params: dict[str, Any]) -> SessionImport | None:
        row = self._db.one(sql, params)
        return None if row is None else SessionImport(self._db, row)

    def names_of(self, origin: str) -> list[str]:
        """The ids of the live sessions that were imported from a session."""
        return [row[0] for row in self._db.all(_NAMES, {"origin": origin})]

    def not_collected(self, key: int, items: list[LiveItem]) -> list[LiveItem]:
        """Those of a session's rows that do not repeat the collected log of its origin."""
        known = self.of_key(key)
        if known is None or not known.is_collected:
            return items
        return [item for item in items if item.number > known.written[item.kind]]

    def note_collected(self) -> None:
        """Note the origins that were collected since the last call.

        The live sessions that were imported from them are read again.
        """
        for (key,) in self._db.all(_NEWLY_COLLECTED):
            self._db.execute(_SET_COLLECTED, {"key": key})
            self._db.execute(_TOUCH, {"key": key})

    def has_newly_collected(self) -> bool:
        return self._db.value(_ANY) is not None and bool(self._db.all(_NEWLY_COLLECTED))


def place_in(known: SessionImport | None, seq: int) -> str | None:
    """The native id of the origin's record from which message ``seq`` was imported.

    None if the origin is not collected or the import did not write the message.
    """
    if known is None or not known.is_collected or seq > known.written[MESSAGE]:
        return None
    return known.places[seq][0] if seq in known.places else None


def ordinal_of(known: SessionImport, seq: int) -> int:
    """The ordinal of a live message among the records of the session that is collected from it."""
    if known.is_collected and seq <= known.written[MESSAGE] and seq in known.places:
        return known.places[seq][1]
    return FIRST_ORDINAL + seq
