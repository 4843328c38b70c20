"""Events: what happened in a session. Each event is one row, owned by one session."""

from collections.abc import Iterator

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.core.text import one_line
from session_memory.core.time import format_time
from session_memory.store.database import Row
from session_memory.store.event_lookups import EventLookups
from session_memory.store.event_writing import EventWriting
from session_memory.store.record_keys import event_uid, identity_of, is_place

_OF_SESSION = """
    select e.seq, e.ts, e.kind, e.marks, e.role, e.tool, e.native_kind, e.model, e.parent_seq,
           e.branch, e.summary, o.uid, e.place, e.length, e.record, e.block, e.call_id,
           e.response_id,
           e.path, e.tokens, e.is_sidechain, e.is_error, e.duration_ms, e.exit_code
    from events e join sources o on o.id = e.source_id
    where e.session_id = :session order by e.seq
"""
_AT = _OF_SESSION.replace("order by e.seq", "and e.seq = :seq")
_INHERITED = """
    select e.seq, e.ts, e.kind, e.marks, e.role, e.tool, e.native_kind, e.model, e.parent_seq,
           e.branch, e.summary, o.uid, e.place, e.length, e.record, e.block, e.call_id,
           e.response_id,
           e.path, e.tokens, e.is_sidechain, e.is_error, e.duration_ms, e.exit_code,
           s.uid, c.seq
    from copies c
    join events e on e.record = c.record and e.block = c.block
    join sources o on o.id = e.source_id
    join sessions s on s.id = e.session_id
    where c.session_id = :session and c.seq is not null and e.session_id <> :session
    order by c.seq
"""
# A damaged row may have a negative seq, and `store verify` must see it.
BEFORE_ALL = -(1 << 63)
_PAGE = f"{_OF_SESSION.replace('order by', 'and e.seq > :after order by')} limit {{most}}"
_CALLS_PAGE = _PAGE.replace("and e.seq >", "and e.call_id is not null and e.seq >")
_INHERITED_PAGE = f"""
    {_INHERITED.replace("order by", "and c.seq > :after order by")} limit {{most}}
"""
_BETWEEN = _OF_SESSION.replace("order by", "and e.seq between :first and :last order by")
_INHERITED_BETWEEN = _INHERITED.replace("order by", "and c.seq between :first and :last order by")
_INHERITS = """
    select s.uid, count(*) from copies c
    join events e on e.record = c.record and e.block = c.block
    join sessions s on s.id = e.session_id
    where c.session_id = :session and c.seq is not null and e.session_id <> :session
    group by s.uid order by s.uid
"""
_CALLS = """
    select seq, ts, kind, marks, tool, path, call_id, is_error from events
    where session_id = :session and (call_id is not null or path is not null) order by seq
"""
_BRANCHES = """
    select branch, count(*), min(seq), sum(tokens) from events
    where session_id = :session and branch is not null group by branch order by min(seq)
"""
_COUNT = "select count(*) from events"


class CallRow(msgspec.Struct, gc=False, frozen=True):
    """A call, a result or another event that names a file. ``kinds``: its kind, then its marks."""

    seq: int
    ts: int | None
    kinds: tuple[str, ...]
    tool: str | None
    path: str | None
    call_id: str | None
    is_error: bool


class Events(EventWriting, EventLookups):
    """The table of events. This class reads whole events; its bases write and look up events."""

    def count(self) -> int:
        return int(self._db.value(_COUNT))

    def of(self, session_id: int, uid: str) -> list[SessionEvent]:
        """The events that the session owns, in order. Inherited ones are left out."""
        rows = self._db.all(_OF_SESSION, {"session": session_id})
        return [self._event(uid, row) for row in rows]

    def at(self, session_id: int, uid: str, seq: int) -> SessionEvent | None:
        """The session's own event at ``seq``. None if it owns none there."""
        row = self._db.one(_AT, {"session": session_id, "seq": seq})
        return None if row is None else self._event(uid, row)

    def inherited(self, session_id: int) -> list[tuple[int, SessionEvent]]:
        """``(seq, event)`` of each event that the session inherits.

        ``seq`` is its position in this session. The event itself is as its owner has it.
        """
        rows = self._db.all(_INHERITED, {"session": session_id})
        return [(row[25], self._event(row[24], row)) for row in rows]

    def between(
        self, session_id: int, uid: str, first: int, last: int
    ) -> list[tuple[int, str | None, SessionEvent]]:
        """``(seq, owner, event)`` of all events from ``first`` to ``last``, inherited ones too.

        The owner of the session's own events is None."""
        asked = {"session": session_id, "first": first, "last": last}
        own = ((row[0], None, self._event(uid, row)) for row in self._db.all(_BETWEEN, asked))
        inherited = (
            (row[25], row[24], self._event(row[24], row))
            for row in self._db.all(_INHERITED_BETWEEN, asked)
        )
        return sorted([*own, *inherited], key=lambda placed: placed[0])

    def each_of(
        self, session_id: int, uid: str, most: int = 500, *, calls_only: bool = False
    ) -> Iterator[SessionEvent]:
        """The session's own events in order, loaded a page at a time.

        So memory stays small, and a slow reader holds no transaction open. ``calls_only``: only
        calls and their results.
        """
        where = {"session": session_id, "after": BEFORE_ALL}
        page = (_CALLS_PAGE if calls_only else _PAGE).format(most=int(most))
        while rows := self._db.all(page, where):
            yield from (self._event(uid, row) for row in rows)
            where["after"] = rows[-1][0]

    def each_inherited(
        self, session_id: int, most: int = 500
    ) -> Iterator[tuple[int, SessionEvent]]:
        """The same as `inherited`, loaded a page at a time."""
        where = {"session": session_id, "after": BEFORE_ALL}
        while rows := self._db.all(_INHERITED_PAGE.format(most=int(most)), where):
            yield from ((row[25], self._event(row[24], row)) for row in rows)
            where["after"] = rows[-1][25]

    def inherits(self, session_id: int) -> dict[str, int]:
        """How many events the session inherits from which other sessions."""
        return {row[0]: int(row[1]) for row in self._db.all(_INHERITS, {"session": session_id})}

    def calls(self, session_id: int) -> list[CallRow]:
        """The session's own calls, results and other events that name a file, in order.

        They have the columns that a list of files needs.
        """
        word = self._names.word
        return [
            CallRow(seq, ts, (word(kind) or "", *(word(marks) or "").split(",")), *rest)
            for seq, ts, kind, marks, *rest in (
                (*row[:4], word(row[4]), *row[5:7], bool(row[7]))
                for row in self._db.all(_CALLS, {"session": session_id})
            )
        ]

    def highest_id(self) -> int:
        """The highest id of an event. The store has at most so many events."""
        return int(self._db.value("select coalesce(max(id), 0) from events"))

    def branches(self, session_id: int) -> list[tuple[str, int, int, int]]:
        """``(branch, events, first seq, tokens)`` of each abandoned branch."""
        rows = self._db.all(_BRANCHES, {"session": session_id})
        return [(row[0], int(row[1]), int(row[2]), int(row[3])) for row in rows]

    def _event(self, uid: str, row: Row) -> SessionEvent:
        word = self._names.word
        (seq, ts, kind, marks, role, tool, native_kind, model, parent, branch, summary) = row[:11]
        (source, place, length, record, block, call, response, path, tokens) = row[11:20]
        (sidechain, error, duration, exit_code) = row[20:24]
        return SessionEvent(
            session_uid=uid,
            seq=seq,
            ts=None if ts is None else format_time(ts),
            kind=word(kind) or "",
            parent_seq=parent,
            role=word(role),
            tool=word(tool),
            summary=summary or one_line(path or ""),
            payload_ref=f"{source}@{place}+{length}#{block}",
            tokens=tokens,
            is_sidechain=bool(sidechain),
            event_uid=event_uid(record, block),
            marks=tuple(filter(None, (word(marks) or "").split(","))),
            call_id=call,
            response_id=response,
            is_error=bool(error),
            native_id=None if is_place(record) else identity_of(record),
            native_kind=word(native_kind),
            model=word(model),
            duration_ms=duration,
            exit_code=exit_code,
            path=path,
            branch=branch,
        )
