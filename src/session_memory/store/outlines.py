"""Read a session's events for an outline or a small drawing: only the columns that these need."""

from collections.abc import Iterator

import msgspec

from session_memory.store.database import Database
from session_memory.store.name_table import NameTable
from session_memory.store.record_keys import event_uid

_OWN = """
    select seq, ts, kind, marks, role, native_kind, branch, call_id, is_error, tool, record, block
    from events where session_id = :session order by seq
"""
_INHERITED = """
    select c.seq, e.ts, e.kind, e.marks, e.role, e.native_kind, e.branch, e.call_id, e.is_error,
        e.tool, e.record, e.block
    from copies c join events e on e.record = c.record and e.block = c.block
    where c.session_id = :session and c.seq is not null and e.session_id <> :session
    order by c.seq
"""
# The calls that name a file and do not edit it.
_READS = """
    select e.seq, e.path from events e join names n on n.id = e.kind
    where e.session_id = :session and e.path is not null and n.name = 'tool_call'
"""
_BETWEEN = """
    select e.ts, k.name, m.name, e.is_error, e.path from events e
    join names k on k.id = e.kind left join names m on m.id = e.marks
    where e.session_id = :session and e.seq between :first and :last
"""
_FIRST_OWN = """
    select s.uid, (select min(e.ts) from events e where e.session_id = s.id)
    from sessions s where s.uid in ({keys})
"""
_SUMMARIES = "select seq, summary from events where session_id = {session} and seq in ({keys})"
# For a small drawing, at most about ``most`` events of a session are read: of a session with ten
# times as many events, about every tenth.
_STRIPS = """
    select s.uid, e.ts, e.kind, e.marks, e.role, e.is_error from events e
    join sessions s on s.id = e.session_id
    where s.uid in ({keys}) and e.seq % (1 + s.event_count / {most}) = 0
    order by s.uid, e.seq
"""


class OutlineEvent(msgspec.Struct, gc=False):
    """One event, without its text. ``kinds`` are its kind and its marks.

    ``branch`` is None unless it is on an abandoned branch. ``record`` and ``block`` give its uid.
    """

    seq: int
    ts: int | None
    kinds: tuple[str, ...]
    role: str | None
    native_kind: str
    branch: str | None
    call_id: str | None
    is_error: bool
    tool: str | None
    is_inherited: bool
    record: bytes
    block: int

    @property
    def event_uid(self) -> str:
        return event_uid(self.record, self.block)


def outline_events(db: Database, names: NameTable, session_id: int) -> Iterator[OutlineEvent]:
    """All events of a session in their order, inherited ones included."""
    own = db.all(_OWN, {"session": session_id})
    inherited = db.all(_INHERITED, {"session": session_id})
    rows = [(row, False) for row in own]
    if inherited:
        rows = sorted([*rows, *((row, True) for row in inherited)], key=lambda one: one[0][0])
    kinds: dict[tuple[int, int], tuple[str, ...]] = {}
    word = names.word
    for (
        seq,
        ts,
        kind,
        marks,
        role,
        native,
        branch,
        call,
        error,
        tool,
        record,
        block,
    ), from_other in rows:
        if (kind, marks) not in kinds:
            parts = (word(kind) or "", *(word(marks) or "").split(","))
            kinds[kind, marks] = tuple(part for part in parts if part)
        yield OutlineEvent(
            seq,
            ts,
            kinds[kind, marks],
            word(role),
            word(native) or "",
            branch,
            call,
            bool(error),
            word(tool),
            from_other,
            record,
            block,
        )


def read_paths(db: Database, session_id: int) -> dict[int, str]:
    """The seq of each call that names a file and does not edit it → the path of the file."""
    return {row[0]: row[1] for row in db.all(_READS, {"session": session_id})}


def first_own_times(db: Database, uids: list[str]) -> dict[str, int]:
    """For each session, the time of its first event that is not copied from another session."""
    return {row[0]: row[1] for row in db.matching(_FIRST_OWN, uids) if row[1] is not None}


def summaries(db: Database, session_id: int, seqs: list[int]) -> dict[int, str]:
    """The one-line summaries of some events of a session, by their seqs."""
    sql = _SUMMARIES.replace("{session}", f"{session_id:d}")
    return {row[0]: row[1] for row in db.matching(sql, seqs)}


class StretchEvent(msgspec.Struct, gc=False):
    """One event of a part of a session. ``kinds`` are its kind and its marks."""

    ts: int | None
    kinds: tuple[str, ...]
    is_error: bool
    path: str | None


def events_between(db: Database, session_id: int, first: int, last: int) -> Iterator[StretchEvent]:
    """The session's own events whose seq is from ``first`` to ``last``, both included."""
    given = {"session": session_id, "first": first, "last": last}
    for ts, kind, marks, error, path in db.each(_BETWEEN, given):
        kinds = (kind, *(part for part in (marks or "").split(",") if part))
        yield StretchEvent(ts, kinds, bool(error), path)


class StripEvent(msgspec.Struct, gc=False):
    """One event of a small drawing of a session. ``kinds`` are its kind and its marks."""

    ts: int | None
    kinds: tuple[str, ...]
    role: str | None
    is_error: bool


def strip_events(
    db: Database, names: NameTable, uids: list[str], most: int
) -> dict[str, list[StripEvent]]:
    """At most about ``most`` events of each session, evenly spread over it."""
    found: dict[str, list[StripEvent]] = {}
    word = names.word
    for uid, ts, kind, marks, role, error in db.matching(
        _STRIPS.replace("{most}", f"{most:d}"), uids
    ):
        parts = (word(kind) or "", *(word(marks) or "").split(","))
        kinds = tuple(part for part in parts if part)
        found.setdefault(uid, []).append(StripEvent(ts, kinds, word(role), bool(error)))
    return found
