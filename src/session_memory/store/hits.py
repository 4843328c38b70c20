"""Events and sessions in the form that search needs, loaded by id."""

from collections.abc import Iterator, Sequence

import msgspec

from session_memory.core.text import one_line
from session_memory.store.database import Database, Row
from session_memory.store.name_table import NameTable
from session_memory.store.record_keys import event_uid

_COLUMNS = """
    e.id, e.session_id, e.seq, e.ts, e.kind, e.marks, e.role, e.tool, e.path, e.branch, e.summary,
    e.is_sidechain, e.is_error, e.model, e.call_id, e.record, e.block, o.uid, e.place, e.length
"""
_BY_ID = f"""
    select {_COLUMNS} from events e join sources o on o.id = e.source_id
    where e.id in ({{keys}})
"""
_NEWEST = f"""
    select {_COLUMNS} from events e join sources o on o.id = e.source_id
    where e.id < :before order by e.id desc limit :limit
"""
_SESSION_OF = "select id, session_id from events where id in ({keys})"
_FILES_OF = """
    select distinct path from events where session_id = :session and path is not null
"""
_SESSIONS = """
    select id, uid, flavor, repo, model, git_branch, outcome, host, started_at, ended_at, cwd
    from sessions
"""

_NEWEST_SESSIONS = """
    select id from sessions order by ended_at desc nulls last, uid limit :limit offset :first
"""


class Hit(msgspec.Struct, frozen=True, gc=False):
    """An event as search needs it: its properties, and where its text is in the stored logs."""

    event_id: int
    session_id: int
    seq: int
    ts: int | None
    kinds: tuple[str, ...]
    role: str
    tool: str | None
    path: str | None
    branch: str | None
    summary: str
    is_sidechain: bool
    is_error: bool
    model: str | None
    call_id: str | None
    event_uid: str
    source: str
    place: int
    length: int
    block: int


class HitSession(msgspec.Struct, frozen=True, gc=False):
    """A session as search needs it."""

    id: int
    uid: str
    flavor: str
    repo: str | None
    model: str | None
    git_branch: str | None
    outcome: str
    host: str | None
    started_at: int | None
    ended_at: int | None
    cwd: str | None


class Hits:
    def __init__(self, db: Database, names: NameTable) -> None:
        self._db = db
        self._names = names

    def of(self, event_ids: Sequence[int]) -> dict[int, Hit]:
        """The events with these ids. Missing ones are left out."""
        return {row[0]: self._hit(row) for row in self._db.matching(_BY_ID, list(event_ids))}

    def sessions_at(self, event_ids: Sequence[int]) -> dict[int, int]:
        """Event id → session id."""
        return {row[0]: row[1] for row in self._db.matching(_SESSION_OF, list(event_ids))}

    def files_of(self, session_id: int) -> set[str]:
        """Every path of a file that an event of the session names."""
        return {row[0] for row in self._db.all(_FILES_OF, {"session": session_id})}

    def newest(self, at_once: int = 2000) -> Iterator[Hit]:
        """Every event, the last stored first, loaded in pages."""
        before = 1 << 62
        while rows := self._db.all(_NEWEST, {"before": before, "limit": at_once}):
            yield from map(self._hit, rows)
            before = rows[-1][0]

    def sessions(self) -> dict[int, HitSession]:
        return {row[0]: HitSession(*row) for row in self._db.all(_SESSIONS)}

    def newest_sessions(self, first: int, limit: int) -> list[int]:
        """The ids of ``limit`` sessions, latest end first. The first ``first`` ones are skipped."""
        given = {"first": first, "limit": limit}
        return [row[0] for row in self._db.all(_NEWEST_SESSIONS, given)]

    def evicted(self) -> list[HitSession]:
        """The evicted sessions, of which only the titles are in the index."""
        return [
            HitSession(*row) for row in self._db.all(f"{_SESSIONS} where evicted_at is not null")
        ]

    def sessions_of(self, session_ids: Sequence[int]) -> dict[int, HitSession]:
        sql = f"{_SESSIONS} where id in ({{keys}})"
        return {row[0]: HitSession(*row) for row in self._db.matching(sql, list(session_ids))}

    def sessions_named(self, uids: Sequence[str]) -> dict[str, HitSession]:
        rows = self._db.matching(f"{_SESSIONS} where uid in ({{keys}})", list(uids))
        return {session.uid: session for session in (HitSession(*row) for row in rows)}

    def _hit(self, row: Row) -> Hit:
        word = self._names.word
        (event_id, session_id, seq, ts, kind, marks, role, tool, path, branch, summary) = row[:11]
        (sidechain, error, model, call_id, record, block, source, place, length) = row[11:]
        return Hit(
            event_id=event_id,
            session_id=session_id,
            seq=seq,
            ts=ts,
            kinds=(word(kind) or "", *filter(None, (word(marks) or "").split(","))),
            role=word(role) or "",
            tool=word(tool),
            path=path,
            branch=branch,
            summary=summary or one_line(path or ""),
            is_sidechain=bool(sidechain),
            is_error=bool(error),
            model=word(model),
            call_id=call_id,
            event_uid=event_uid(record, block),
            source=source,
            place=place,
            length=length,
            block=block,
        )
