"""Sessions: one row each, with its sums, watermarks and settling state."""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import msgspec

from session_memory.core.schema import Cost, Session
from session_memory.core.time import format_time
from session_memory.store.database import Database, Row
from session_memory.store.figure_marks import FigureMarks
from session_memory.store.row_values import storable
from session_memory.store.session_columns import HOST, SOURCE_BYTES, TASK, TITLE
from session_memory.store.usage import BUCKETS


class CollectedSession(msgspec.Struct, kw_only=True):
    """A session as it is in the table; times are milliseconds."""

    id: int = 0
    uid: str
    flavor: str
    native_id: str
    native_name: str | None = None
    repo: str | None = None
    domain: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    model: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    outcome: str = "unknown"
    outcome_evidence: str = "[]"
    task_ref: str | None = None
    title: str | None = None
    parent_uid: str | None = None
    relation: str | None = None
    spawn_call_id: str | None = None
    spawn_depth: int = 0
    agent_version: str | None = None
    host: str | None = None
    facts: str = "{}"
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0
    turns: int = 0
    retries: int = 0
    wall_clock_ms: int = 0
    event_count: int = 0
    own_records: int = 0
    has_shared: int = 0
    stale: int = 0
    revision: int = 0
    analyzed_revision: int | None = None
    discovered_at: int = 0
    ingested_at: int | None = None
    analyzed_at: int | None = None
    evicted_at: int | None = None
    state: bytes = b""

    @property
    def is_new(self) -> bool:
        """Whether none of its records became events yet. Its row may come from a document alone."""
        return self.revision == 0


class PlacedSession(NamedTuple):
    """The columns of a session that say where it worked."""

    id: int
    cwd: str
    git_branch: str | None
    facts: str
    repo: str | None


COLUMNS = CollectedSession.__struct_fields__
_SELECT = f"select {', '.join(COLUMNS)} from sessions"
_BY_UID = f"{_SELECT} where uid = :uid"
_BY_ID = f"{_SELECT} where id = :id"
_BY_IDS = f"{_SELECT} where id in ({{keys}})"
EVICTED_SESSIONS = "select id from sessions where evicted_at is not null"
# The logs of an evicted session are not here, so it cannot be derived until it is restored.
_STALE = "select id from sessions where stale = 1 and evicted_at is null order by id"
_SAVE = f"""
    update sessions set {", ".join(f"{name} = :{name}" for name in COLUMNS[1:])} where id = :id
"""
_MARK_STALE = "update sessions set stale = 1 where id = :id and evicted_at is null"
_PLACES = """
    select distinct 0, cwd, case when git_branch <> '' then '*' end,
        case when facts like '%"repository%' then facts else '{}' end, repo
    from sessions where cwd is not null
"""
_IN_DIRECTORY = f"select {', '.join(PlacedSession._fields)} from sessions where cwd = :cwd"
# A digest holds the name of the repository, so it must be made again.
_SET_REPO = """
    update sessions set repo = :repo, domain = :domain,
        revision = case when evicted_at is null then revision + 1 else revision end
    where id = :id
"""
_SOURCE_COLUMNS = ("session_id", "source_id")
_LINK_SOURCE = """
    insert into session_sources (session_id, source_id) values (:session, :source)
    on conflict do nothing
"""
_SOURCES = "select source_id from session_sources where session_id = :session"
_SHARING = "select other_id from shares where session_id = :session"
_SHARING_WITH_ANY = "select distinct other_id from shares where session_id in ({keys})"
_SHARE = """
    insert into shares (session_id, other_id) values (:one, :other) on conflict do nothing
"""
_OF_SOURCE = "select session_id from session_sources where source_id = :source"
_DROP_DERIVED = tuple(
    f"delete from {table} where {column} = :session"
    for table, column in (
        ("copies", "session_id"),
        ("links", "parent_id"),
        ("turn_totals", "session_id"),
        ("turn_children", "session_id"),
        ("shares", "session_id"),
    )
) + (
    "delete from usage where owner_id = :session and session_id = :session",
    """
    delete from usage
    where session_id = :session and (owner_id is null or owner_id <> session_id)
    """,
)
_BEGIN_AGAIN = """
    update sessions set stale = 1, facts = '{}', parent_uid = null, relation = null,
        spawn_call_id = null, spawn_depth = 0
    where id = :session
"""
_KEEP_PARENT = """
    update sessions set parent_uid = :parent, relation = :relation
    where id = :id and relation is null
"""
_DROP_SHARED = "delete from shares where other_id = :session"
_UNLINK_SOURCE = """
    delete from session_sources where session_id = :session and source_id = :source
"""
_DROP_SOURCES = "delete from session_sources where session_id = :session"
_ASKED = {"host": HOST, "task_ref": TASK, "title": TITLE}
_SHOWN_COLUMNS = tuple(name for name in COLUMNS if name not in ("id", "state"))
SHOWN = f"""
    select {", ".join(_ASKED.get(name, "s." + name) for name in _SHOWN_COLUMNS)},
        (select min(o.path) from session_sources x join sources o on o.id = x.source_id
         where x.session_id = s.id and o.role in ('log', 'rewritten')),
        {SOURCE_BYTES}
    from sessions s
"""
_CHILDREN = """
    select s.uid from sessions s where s.parent_uid = :uid
    order by s.started_at is null, s.started_at, s.uid
"""
_FAMILY = """
    with recursive
    above (uid) as (
        select uid from sessions where uid = :uid union
        select s.parent_uid from sessions s join above a on s.uid = a.uid
        where s.parent_uid is not null
    ),
    below (uid) as (
        select uid from above union
        select s.uid from sessions s join below b on s.parent_uid = b.uid
    )
    select id from sessions where uid in (select uid from below)
"""
_REVISIONS = "select id, uid, revision from sessions order by id"
_OUTERMOST_FIRST = "select id, flavor from sessions order by spawn_depth, id"
_EXISTING = "select id from sessions where id in ({keys})"
_TITLES = f"select s.id, {TITLE} from sessions s where coalesce({TITLE}, '') <> '' order by s.id"
_TITLES_OF = f"select s.id, {TITLE} from sessions s where s.id in ({{keys}})"
_ORPHANS = "select id from sessions where id not in (select session_id from session_sources)"
_DROP = "delete from sessions where id = :session"
# The settling state of a new session: an empty msgpack array.
EMPTY_STATE = b"\x90"
# A subagent without an id of its own has the uid of its parent, a colon and a name.
_NAMED_BELOW = "select id from sessions where uid = :uid or (uid > :first and uid < :last)"
_SUBAGENTS = """
    select uid from sessions where parent_uid = :uid and relation = 'subagent' order by uid
"""
# ``union`` drops doubles. Logs may claim that two sessions started each other, and with doubles
# this query would then never end.
_SUBAGENTS_BELOW = """
    with recursive below (parent, uid) as (
        select parent_uid, uid from sessions
        where parent_uid in ({keys}) and relation = 'subagent' union
        select s.parent_uid, s.uid from sessions s join below b on s.parent_uid = b.uid
        where s.relation = 'subagent'
    )
    select parent, uid from below order by uid
"""
_GREW_AWAY = "select id from sessions where stale = 1 and evicted_at is not null order by id"
_IS_EVICTED = "select 1 from sessions where uid = :uid and evicted_at is not null"
_FORKS = f"{_SELECT} where parent_uid = :uid and relation = 'fork' order by uid"
_WHOLLY_SHARED = """
    select id from sessions
    where has_shared = 1 and own_records = 0 and flavor = :flavor and uid < :before
    order by uid
"""
_UIDS = "select uid from sessions order by uid"
_COUNT = "select count(*) from sessions"


class Sessions:
    def __init__(self, db: Database, marks: FigureMarks) -> None:
        self._db = db
        self._marks = marks

    # ------------------------------------------------------------ for the writer

    def row(self, uid: str) -> CollectedSession | None:
        return self._row(_BY_UID, {"uid": uid})

    def row_by_id(self, session_id: int) -> CollectedSession:
        found = self._row(_BY_ID, {"id": session_id})
        if found is None:
            raise LookupError(session_id)
        return found

    def rows_by_id(self, session_ids: Sequence[int]) -> dict[int, CollectedSession]:
        """The rows of those sessions that are in the store, by id."""
        return {row[0]: _made(row) for row in self._db.matching(_BY_IDS, session_ids)}

    def _row(self, sql: str, params: dict[str, Any]) -> CollectedSession | None:
        found = self._db.one(sql, params)
        return None if found is None else _made(found)

    def forks_of(self, uid: str) -> list[CollectedSession]:
        return [_made(row) for row in self._db.all(_FORKS, {"uid": uid})]

    def save(self, row: CollectedSession) -> None:
        """Insert the row, or update it if it has an id."""
        if row.id:
            self._db.execute(_SAVE, storable(row))
        else:
            values = list(storable(row).values())
            row.id = self._db.insert_one("sessions", COLUMNS[1:], values[1:])
        self._marks.add(row.id)

    def link_source(self, session_id: int, source_id: int, *, is_first: bool = False) -> None:
        """With ``is_first``, the session was just added, and so has no source yet."""
        if is_first:
            self._db.insert("session_sources", _SOURCE_COLUMNS, [(session_id, source_id)])
        else:
            self._db.execute(_LINK_SOURCE, {"session": session_id, "source": source_id})

    def unlink_source(self, session_id: int, source_id: int) -> None:
        self._db.execute(_UNLINK_SOURCE, {"session": session_id, "source": source_id})

    def source_ids(self, session_id: int) -> list[int]:
        return [row[0] for row in self._db.all(_SOURCES, {"session": session_id})]

    def of_source(self, source_id: int) -> list[int]:
        return [row[0] for row in self._db.all(_OF_SOURCE, {"source": source_id})]

    def mark_stale(self, session_id: int) -> None:
        """Mark a session, so that it is derived again before the sync ends.

        An evicted session is not marked.
        """
        self._db.execute(_MARK_STALE, {"id": session_id})

    def stale(self) -> list[int]:
        return [row[0] for row in self._db.all(_STALE)]

    def grew_while_evicted(self) -> list[int]:
        """Evicted sessions of which new records were read."""
        return [row[0] for row in self._db.all(_GREW_AWAY)]

    def places(self) -> list[PlacedSession]:
        """Where sessions worked. Sessions with the same values are one row, with the id 0."""
        return [PlacedSession(*row) for row in self._db.all(_PLACES)]

    def in_directory(self, cwd: str) -> list[PlacedSession]:
        return [PlacedSession(*row) for row in self._db.all(_IN_DIRECTORY, {"cwd": cwd})]

    def set_repo(self, session_id: int, repo: str | None, domain: str | None) -> None:
        values = {"id": session_id, "repo": repo, "domain": domain}
        self._db.execute(_SET_REPO, values)
        self._marks.add(session_id)

    def sharing_with(self, session_id: int) -> list[int]:
        return [row[0] for row in self._db.all(_SHARING, {"session": session_id})]

    def sharing_with_any(self, session_ids: Sequence[int]) -> set[int]:
        """The ids of all sessions that have a record in common with one of these sessions."""
        return {row[0] for row in self._db.matching(_SHARING_WITH_ANY, session_ids)}

    def set_sharing(self, pairs: set[tuple[int, int]]) -> None:
        both = sorted(pairs | {(b, a) for a, b in pairs})
        self._db.update_many(_SHARE, ({"one": one, "other": other} for one, other in both))

    def wholly_shared(self, flavor: str, *, before: str) -> list[int]:
        """The sessions with a uid below ``before`` whose records are all held by other sessions."""
        return [
            row[0] for row in self._db.all(_WHOLLY_SHARED, {"flavor": flavor, "before": before})
        ]

    def drop_derived(self, session_id: int) -> None:
        for statement in (*_DROP_DERIVED, _DROP_SHARED):
            self._db.execute(statement, {"session": session_id})

    def begin_again(self, session_ids: Sequence[int]) -> None:
        """Mark sessions stale and clear the values that come from their sources, which are read
        again. Derived rows stay until the sessions are derived."""
        for statement in (_DROP_SOURCES, _BEGIN_AGAIN):
            self._db.update_many(statement, ({"session": one} for one in session_ids))
        for one in session_ids:
            self._marks.add(one)

    def keep_parent(self, row: CollectedSession) -> None:
        """Restore the parent and the relation of ``row`` if the session has none now.

        They were inferred before its logs were read again. Subagents are left out.
        """
        if row.relation != "subagent":
            values = {"id": row.id, "parent": row.parent_uid, "relation": row.relation}
            self._db.execute(_KEEP_PARENT, values)
            self._marks.add(row.id)

    def revisions(self) -> dict[int, tuple[str, int]]:
        """For every session id its uid and revision, in the order of ids."""
        return {row[0]: (row[1], row[2]) for row in self._db.all(_REVISIONS)}

    def outermost_first(self) -> list[tuple[int, str]]:
        """``(id, flavor)`` of every session. A session comes before those that it started."""
        return [(row[0], row[1]) for row in self._db.all(_OUTERMOST_FIRST)]

    def existing(self, session_ids: Sequence[int]) -> list[int]:
        """Those of ``session_ids`` that are in the store."""
        return [row[0] for row in self._db.matching(_EXISTING, session_ids)]

    def titles(self) -> list[tuple[int, str]]:
        """``(id, title)`` of every session that has a title."""
        return [(row[0], row[1]) for row in self._db.all(_TITLES)]

    def family_ids(self, uid: str) -> set[int]:
        """The ids of the session, its ancestors, and all sessions below them."""
        return {row[0] for row in self._db.all(_FAMILY, {"uid": uid})}

    def titles_of(self, session_ids: Sequence[int]) -> dict[int, str]:
        """The titles of these sessions, for those that have one."""
        rows = self._db.matching(_TITLES_OF, sorted(set(session_ids)))
        return {row[0]: row[1] for row in rows if row[1]}

    def orphans(self) -> list[int]:
        """The sessions that have no source any more."""
        return [row[0] for row in self._db.all(_ORPHANS)]

    def drop(self, session_id: int) -> None:
        """Delete a session whose events are deleted already."""
        self.drop_derived(session_id)
        self._db.execute(_DROP, {"session": session_id})
        self._marks.add(session_id)

    # ------------------------------------------------------------ for readers

    def get(self, uid: str) -> Session | None:
        row = self._db.one(f"{SHOWN} where s.uid = :uid", {"uid": uid})
        return None if row is None else to_session(row)

    def every(self) -> list[Session]:
        """All sessions, newest first."""
        order = "order by s.ended_at desc nulls last, s.uid"
        return [to_session(row) for row in self._db.all(f"{SHOWN} {order}")]

    def children(self, uid: str) -> list[str]:
        return [row[0] for row in self._db.all(_CHILDREN, {"uid": uid})]

    def subagents(self, uid: str) -> list[str]:
        return [row[0] for row in self._db.all(_SUBAGENTS, {"uid": uid})]

    def family(self, uid: str) -> list[int]:
        """A session and its subagents that have no ids of their own. ``uid`` may be any of them."""
        root = ":".join(uid.split(":", 2)[:2])
        names = {"uid": root, "first": f"{root}:", "last": f"{root};"}
        return [row[0] for row in self._db.all(_NAMED_BELOW, names)]

    def subagents_below(self, uids: Sequence[str]) -> list[tuple[str, str]]:
        """``(parent, subagent)`` for every subagent below these sessions, at any depth."""
        rows = self._db.matching(_SUBAGENTS_BELOW, sorted(set(uids)))
        return [(row[0], row[1]) for row in rows]

    def is_evicted(self, uid: str) -> bool:
        return self._db.one(_IS_EVICTED, {"uid": uid}) is not None

    def uids(self) -> list[str]:
        return [row[0] for row in self._db.all(_UIDS)]

    def count(self) -> int:
        return int(self._db.value(_COUNT))


_MOMENTS = ("started_at", "ended_at", "discovered_at", "ingested_at", "analyzed_at", "evicted_at")
# The fields of the record that are columns of the same name, with the same value.
_SAME = tuple(
    one.name
    for one in fields(Session)
    if one.name in COLUMNS and one.name not in (*_MOMENTS, "outcome_evidence")
)


def _made(row: Row) -> CollectedSession:
    return CollectedSession(**dict(zip(COLUMNS, row, strict=True)))


def to_session(row: Row) -> Session:
    """The public value of a row that ``SHOWN`` selects."""
    values = dict(zip((*_SHOWN_COLUMNS, "path", "bytes"), row, strict=True))
    moments: dict[str, Any] = {
        name: None if values[name] is None else format_time(values[name]) for name in _MOMENTS
    }
    return Session(
        session_uid=values["uid"],
        native_session_id=values["native_id"],
        cost=Cost(
            cache_tokens=values["cache_read_tokens"] + values["cache_write_tokens"],
            wall_clock_s=values["wall_clock_ms"] / 1000,
            turns=values["turns"],
            retries=values["retries"],
            **{name: values[name] for name in BUCKETS},
        ),
        source_path=values["path"],
        source_bytes=values["bytes"],
        outcome_evidence=tuple(json.loads(values["outcome_evidence"])),
        **{name: values[name] for name in _SAME},
        **moments,
    )
