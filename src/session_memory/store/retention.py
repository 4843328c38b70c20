"""Retention tables: evicted sources, pins, tombstones, masks, and past runs.

An evicted session keeps its row, its usage, and its sources with their cursors. Its events and
packs are not in the store until the session is restored. Its cost still counts.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256

import msgspec

from session_memory.store.database import Database
from session_memory.store.figure_marks import FigureMarks
from session_memory.store.live_closed import closed_bytes
from session_memory.store.raw import Pack
from session_memory.store.steps import step5_learn

SESSION, SOURCE = "session", "source"
FORGOTTEN_LIVE = "live"
"""The kind of tombstone of a forgotten live session. An import skips the session. Its id is free
for a new session."""
UNSWEPT = "unswept"
"""The tombstone that notes that free pages may hold deleted data."""
DISTILLED = tuple(re.findall(r"^create table (\w+)", step5_learn.SQL, re.MULTILINE))
"""The tables with the results of analyses. Retention never deletes from them."""
DAY_MS = 86_400_000


class EvictedSource(msgspec.Struct, frozen=True):
    """A source whose packs were evicted. ``file`` is the archive file with them, or None.

    ``digest`` is the hash of the source's bytes, ``bytes`` the compressed size of the packs.
    """

    source_id: int
    file: str | None
    digest: str
    bytes: int
    evicted_at: int


class Candidate(msgspec.Struct, frozen=True):
    """The columns of a session that decide whether it can be evicted, and with which others."""

    id: int
    uid: str
    flavor: str
    native_id: str
    parent_uid: str | None
    relation: str | None
    facts: str
    revision: int
    analyzed_revision: int | None
    stale: int
    ended_at: int | None
    ingested_at: int | None
    evicted_at: int | None


_EVICTED_COLUMNS = ", ".join(EvictedSource.__struct_fields__)
_EVICTED = f"select {_EVICTED_COLUMNS} from evicted_sources"
_EVICTED_SOURCE = f"{_EVICTED} where source_id = :source"
_EVICTED_OF = f"""
    {_EVICTED} where source_id in (
        select source_id from session_sources where session_id = :session
        union
        select o.id from sources o join sessions s on s.flavor = o.flavor
            and s.native_id = o.session where s.id = :session
    ) order by source_id
"""
_CANDIDATES = f"select {', '.join(Candidate.__struct_fields__)} from sessions order by id"
_PACK_BYTES = "select source_id, sum(length(body)) from packs group by source_id"
_USED = "select coalesce(sum(length(body)), 0) from packs"
_PAIRS = "select session_id, source_id from session_sources"
_SPILLS = "select id, flavor, session from sources where role = 'spill'"
_OWN_ROWS = "select id from sources where role = 'table' or (flavor = 'live' and host = '')"
_PLACES = "select start, hash from packs where source_id = :source order by start"
_FIRST_PLACE = "select min(start) from packs where source_id = :source"
_DROP_PACKS = "delete from packs where source_id = :source"
_DROP_COPIES = "delete from copies where session_id = :session"
# A response may count for this session, while its row belongs to another session that logged it
# too. Then this session takes over the row.
_TAKE_OVER = """
    update usage set session_id = :session where owner_id = :session and session_id <> :session
"""
_TAKE_OVER_REPORTS = """
    update usage set session_id = :session where reported_for = :session and session_id <> :session
"""
# Responses that the session only reports stay. If the session that logged such a response itself is
# forgotten, the report counts again.
_DROP_UNCOUNTED = """
    delete from usage where session_id = :session and (owner_id is null or owner_id <> :session)
        and (reported_for is null or reported_for <> :session)
"""
_EVICT = "update sessions set evicted_at = :now, stale = 0 where id = :session"
_UNFREEZE = "update sessions set evicted_at = null, stale = 1 where id = :session"
_CLEAR_EVICTED_PROBLEM = """
    delete from problems where reason = 'evicted' and length = 0
        and source_id in (select source_id from session_sources where session_id = :session)
"""
_FORGET_EVICTION = "delete from evicted_sources where source_id = :source"
_PINS = "select session_uid, until from pins where until is null or until > :now"
_IS_PINNED = """
    select 1 from pins where session_uid = :uid and (until is null or until > :now)
"""
_PIN = "insert into pins (session_uid, pinned_at, until) values (:uid, :now, :until)"
_UNPIN = "delete from pins where session_uid = :uid"
_ADD_TOMBSTONE = """
    insert into tombstones (key, kind, with_key, forgotten_at) values (:key, :kind, :with, :now)
    on conflict do nothing
"""
_REMOVE_TOMBSTONES = "delete from tombstones where with_key = :key"
_TOMBSTONES = "select kind, key from tombstones"
_MASKS = "select start, length from masks where source_id = :source order by start"
_RECORD_RUN = "insert into retention_runs (ran_at, report) values (:now, :report)"
_LAST_RUN = "select ran_at, report from retention_runs order by id desc limit 1"
_FIRST_SEEN = "select min(discovered_at) from sources"
_EVICTED_SESSIONS = "select id from sessions where evicted_at is not null"
_EVICTED_UIDS = "select uid from sessions where evicted_at is not null"
_COUNT_EVICTED = "select count(*) from sessions where evicted_at is not null"
_DICTIONARIES_OF = """
    select distinct d.id, length(d.body) from packs p join dictionaries d on d.id = p.dictionary_id
    where p.source_id in ({keys})
"""
_SAME_DICTIONARY = """
    select id from dictionaries where flavor = :flavor and body = :body order by id limit 1
"""
_DICTIONARIES = "select id, flavor, body from dictionaries order by id"


def _size_of(column: str) -> str:
    value = column if f" {column} {{blob}}" in step5_learn.SQL else f"cast({column} as text)"
    return f"coalesce(octet_length({value}), 0)"


def session_key(uid: str) -> str:
    """A hash of the session's uid. The uid cannot be read from it."""
    return sha256(f"session\0{uid}".encode()).hexdigest()[:40]


def source_key(host: str, path: str) -> str:
    """A hash of the source's host and path. They cannot be read from it."""
    return sha256(f"source\0{host}\0{path}".encode()).hexdigest()[:40]


class Retention:
    def __init__(self, db: Database, marks: FigureMarks) -> None:
        self._db = db
        self._marks = marks

    # ------------------------------------------------------------ sizes and candidates

    def used_bytes(self) -> int:
        """The compressed bytes of all packs and the bytes of closed live sessions.
        The caps of retention limit this sum.
        """
        return int(self._db.value(_USED)) + closed_bytes(self._db)

    def candidates(self) -> list[Candidate]:
        return [Candidate(*row) for row in self._db.all(_CANDIDATES)]

    def pack_bytes(self) -> dict[int, int]:
        """Source id → compressed bytes. Sources without packs are left out."""
        return {source: int(size) for source, size in self._db.all(_PACK_BYTES)}

    def session_sources(self) -> list[tuple[int, int]]:
        return [(session, source) for session, source in self._db.all(_PAIRS)]

    def spills(self) -> list[tuple[int, str, str]]:
        """``(source, flavor, native id)`` of the sources that hold spilled bodies."""
        return [(source, flavor, native) for source, flavor, native in self._db.all(_SPILLS)]

    def row_sources(self) -> set[int]:
        """Sources whose content is rows of this store (live sessions). They have no packs."""
        return {source for (source,) in self._db.all(_OWN_ROWS)}

    def distilled_bytes(self) -> int:
        """The approximate size of all values in the tables `DISTILLED`."""
        total = 0
        for table in DISTILLED:
            if self._db.has_table(table):
                sizes = " + ".join(_size_of(name) for name in self._db.columns(table))
                total += int(self._db.value(f"select coalesce(sum({sizes}), 0) from {table}"))
        return total

    # ------------------------------------------------------------ evicting and restoring

    def evicted(self) -> dict[int, EvictedSource]:
        return {row[0]: EvictedSource(*row) for row in self._db.all(_EVICTED)}

    def evicted_source(self, source_id: int) -> EvictedSource | None:
        row = self._db.one(_EVICTED_SOURCE, {"source": source_id})
        return None if row is None else EvictedSource(*row)

    def evicted_of(self, session_id: int) -> list[EvictedSource]:
        """The evicted sources of a session, including spilled bodies."""
        return [EvictedSource(*row) for row in self._db.all(_EVICTED_OF, {"session": session_id})]

    def evicted_sessions(self) -> set[int]:
        return {session for (session,) in self._db.all(_EVICTED_SESSIONS)}

    def evicted_uids(self) -> set[str]:
        return {uid for (uid,) in self._db.all(_EVICTED_UIDS)}

    def evicted_up_to(self, source_id: int, kept: int) -> int:
        """The byte up to which a source is evicted. Bytes after it were collected later."""
        first = self._db.value(_FIRST_PLACE, {"source": source_id})
        return kept if first is None else int(first)

    def count_evicted(self) -> int:
        return int(self._db.value(_COUNT_EVICTED))

    def places(self, source_id: int) -> list[tuple[int, bytes]]:
        """``(start, hash)`` of every pack, to compare with an archive."""
        return [
            (start, bytes(digest)) for start, digest in self._db.all(_PLACES, {"source": source_id})
        ]

    def drop_raw(self, source: EvictedSource) -> None:
        """Delete the packs of a source, and record it as evicted."""
        self._db.execute(_DROP_PACKS, {"source": source.source_id})
        values = msgspec.structs.astuple(source)
        self._db.insert("evicted_sources", EvictedSource.__struct_fields__, [values])

    def freeze(self, session_ids: Collection[int], now: int) -> None:
        """Mark sessions as evicted. Their rows and the usage that counts for them are kept."""
        for statement in (
            *(_TAKE_OVER, _TAKE_OVER_REPORTS, _DROP_UNCOUNTED),
            *(_DROP_COPIES, _EVICT),
        ):
            for session in session_ids:
                params = {"session": session}
                self._db.execute(
                    statement, {**params, "now": now} if statement is _EVICT else params
                )
        for session in session_ids:
            self._marks.add(session)

    def put_back(self, source_id: int, packs: Iterable[Pack]) -> None:
        """Insert the packs of an evicted source again."""
        columns = ("source_id", "start", "length", "hash", "dictionary_id", "body")
        for pack in packs:
            self._db.insert("packs", columns, [(source_id, *pack)])
        self._db.execute(_FORGET_EVICTION, {"source": source_id})

    def unfreeze(self, session_id: int) -> None:
        """Mark a session as no longer evicted, and as stale: its events must be derived again."""
        self._db.execute(_UNFREEZE, {"session": session_id})
        self._marks.add(session_id)
        self._db.execute(_CLEAR_EVICTED_PROBLEM, {"session": session_id})

    def dictionaries(self) -> list[tuple[int, str, bytes]]:
        """All dictionaries: ``(id, flavor, body as stored)``."""
        return [
            (number, flavor, bytes(body)) for number, flavor, body in self._db.all(_DICTIONARIES)
        ]

    def dictionaries_of(self, source_ids: Sequence[int]) -> dict[int, int]:
        """The dictionaries that the packs of these sources need, with their sizes."""
        return dict(self._db.matching(_DICTIONARIES_OF, sorted(set(source_ids))))

    def dictionary(self, flavor: str, body: bytes) -> int:
        """The id of a dictionary from an archive, inserted if it is not in the store yet."""
        number = self._db.value(_SAME_DICTIONARY, {"flavor": flavor, "body": body})
        if number is not None:
            return int(number)
        return self._db.insert_one("dictionaries", ("flavor", "body"), (flavor, body))

    # ------------------------------------------------------------ pins

    def pins(self, now: int) -> dict[str, int | None]:
        """Pinned session uid → end of the pin. None means no end."""
        return dict(self._db.all(_PINS, {"now": now}))

    def is_pinned(self, uid: str, now: int) -> bool:
        return self._db.one(_IS_PINNED, {"uid": uid, "now": now}) is not None

    def pin(self, uid: str, now: int, until: int | None = None) -> None:
        self.unpin(uid)
        self._db.execute(_PIN, {"uid": uid, "now": now, "until": until})

    def unpin(self, uid: str) -> None:
        self._db.execute(_UNPIN, {"uid": uid})

    # ------------------------------------------------------------ tombstones

    def tombstones(self) -> dict[str, set[str]]:
        """The keys of forgotten sessions and sources, by kind."""
        keys: dict[str, set[str]] = {}
        for kind, key in self._db.all(_TOMBSTONES):
            keys.setdefault(kind, set()).add(key)
        return keys

    def add_tombstone(
        self, kind: str, key: str, now: int, together_with: str | None = None
    ) -> None:
        """Stop a session or source from being collected again.

        `remove_tombstones` of the key ``together_with`` also removes this one.
        """
        params = {"key": key, "kind": kind, "with": together_with or key, "now": now}
        self._db.execute(_ADD_TOMBSTONE, params)

    def remove_tombstones(self, key: str) -> None:
        self._db.execute(_REMOVE_TOMBSTONES, {"key": key})

    def masks(self, source_id: int) -> list[tuple[int, int]]:
        """``(start, length)`` of the forgotten ranges of a source, in order."""
        return [(start, length) for start, length in self._db.all(_MASKS, {"source": source_id})]

    def add_masks(self, source_id: int, masks: Iterable[tuple[int, int]]) -> None:
        known = {start for start, _ in self.masks(source_id)}
        new = [(source_id, start, length) for start, length in masks if start not in known]
        self._db.insert("masks", ("source_id", "start", "length"), new)

    # ------------------------------------------------------------ runs

    def record_run(self, now: int, report: str) -> None:
        self._db.execute(_RECORD_RUN, {"now": now, "report": report})

    def last_run(self) -> tuple[int, str] | None:
        row = self._db.one(_LAST_RUN)
        return None if row is None else (int(row[0]), str(row[1]))

    def is_due(self, now: int) -> bool:
        """Whether a day has passed since the last run. Without a run, since the first sync."""
        last = self.last_run()
        since = self._db.value(_FIRST_SEEN) if last is None else last[0]
        return since is not None and now - since >= DAY_MS
