"""Retention: what was evicted and where it is, pins, tombstones, and the runs so far.

An evicted session keeps its row, its usage and its sources with their cursors; its events and the
packs are gone from the store until they are brought back. What counts for it counts on.
"""

import re
from collections.abc import Collection, Iterable
from hashlib import sha256

import msgspec

from session_memory.store.database import Database
from session_memory.store.raw import Pack
from session_memory.store.steps import learn

SESSION, SOURCE = "session", "source"
DISTILLED = tuple(re.findall(r"^create table (\w+)", learn.SQL, re.MULTILINE))
"""The tables of tier 2, which no pass ever touches."""
DAY_MS = 86_400_000


class EvictedSource(msgspec.Struct, frozen=True):
    """A source whose packs are gone; ``file`` is the archive that holds them, if any does.

    ``digest`` is the hash of the raw and ``bytes`` what its packs took.
    """

    source_id: int
    file: str | None
    digest: str
    bytes: int
    evicted_at: int


class Candidate(msgspec.Struct, frozen=True):
    """What decides about a session: its state, and what it must go and stay with."""

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
_ROWS_OF_OURS = "select id from sources where role = 'table' or (flavor = 'live' and host = '')"
_PLACES = "select start, hash from packs where source_id = :source order by start"
_FIRST_PLACE = "select min(start) from packs where source_id = :source"
_DROP_PACKS = "delete from packs where source_id = :source"
_DROP_COPIES = "delete from copies where session_id = :session"
# What counts for it may have been logged, more fully, by a session that stays.
_TAKE_OVER = """
    update usage set session_id = :session where owner_id = :session and session_id <> :session
"""
_DROP_UNCOUNTED = """
    delete from usage where session_id = :session and (owner_id is null or owner_id <> :session)
"""
_EVICT = "update sessions set evicted_at = :now, stale = 0 where id = :session"
_WAKE = "update sessions set evicted_at = null, stale = 1 where id = :session"
_NO_LONGER_WAITS = """
    delete from problems where reason = 'evicted' and length = 0
        and source_id in (select source_id from session_sources where session_id = :session)
"""
_FORGET_EVICTION = "delete from evicted_sources where source_id = :source"
_PINS = "select session_uid, until from pins where until is null or until > :now"
_PIN = "insert into pins (session_uid, pinned_at, until) values (:uid, :now, :until)"
_UNPIN = "delete from pins where session_uid = :uid"
_BURY = """
    insert into tombstones (key, kind, with_key, forgotten_at) values (:key, :kind, :with, :now)
    on conflict do nothing
"""
_LIFT = "delete from tombstones where with_key = :key"
_BURIED = "select kind, key from tombstones"
_MASKS = "select start, length from masks where source_id = :source order by start"
_RECORD_RUN = "insert into retention_runs (ran_at, report) values (:now, :report)"
_LAST_RUN = "select ran_at, report from retention_runs order by id desc limit 1"
_FIRST_SEEN = "select min(discovered_at) from sources"
_EVICTED_SESSIONS = "select id from sessions where evicted_at is not null"
_COUNT_EVICTED = "select count(*) from sessions where evicted_at is not null"
_DICTIONARIES = "select id, flavor, body from dictionaries order by id"


def _size_of(column: str) -> str:
    told = column if f" {column} {{blob}}" in learn.SQL else f"cast({column} as text)"
    return f"coalesce(octet_length({told}), 0)"


def session_key(uid: str) -> str:
    """A session's identity without its words."""
    return sha256(f"session\0{uid}".encode()).hexdigest()[:40]


def source_key(host: str, path: str) -> str:
    """A source's identity without its words; the same for every generation."""
    return sha256(f"source\0{host}\0{path}".encode()).hexdigest()[:40]


class Retention:
    def __init__(self, db: Database) -> None:
        self._db = db

    # ------------------------------------------------------------ what there is

    def used_bytes(self) -> int:
        """What the caps are about: all packs, compressed."""
        return int(self._db.value(_USED))

    def candidates(self) -> list[Candidate]:
        return [Candidate(*row) for row in self._db.all(_CANDIDATES)]

    def pack_bytes(self) -> dict[int, int]:
        """Compressed bytes by source; a source without packs is not among them."""
        return {source: int(size) for source, size in self._db.all(_PACK_BYTES)}

    def session_sources(self) -> list[tuple[int, int]]:
        return [(session, source) for session, source in self._db.all(_PAIRS)]

    def spills(self) -> list[tuple[int, str, str]]:
        """``(source, flavor, native id)`` of bodies that lie beside a session's log."""
        return [(source, flavor, native) for source, flavor, native in self._db.all(_SPILLS)]

    def row_sources(self) -> set[int]:
        """Sources that are rows of this store: their raw is no pack, and nothing to evict."""
        return {source for (source,) in self._db.all(_ROWS_OF_OURS)}

    def distilled_bytes(self) -> int:
        """About what tier 2 takes: the texts and bodies of its tables."""
        total = 0
        for table in DISTILLED:
            if self._db.has_table(table):
                sizes = " + ".join(_size_of(name) for name in self._db.columns(table))
                total += int(self._db.value(f"select coalesce(sum({sizes}), 0) from {table}"))
        return total

    # ------------------------------------------------------------ evicting and waking

    def evicted(self) -> dict[int, EvictedSource]:
        return {row[0]: EvictedSource(*row) for row in self._db.all(_EVICTED)}

    def evicted_source(self, source_id: int) -> EvictedSource | None:
        row = self._db.one(_EVICTED_SOURCE, {"source": source_id})
        return None if row is None else EvictedSource(*row)

    def evicted_of(self, session_id: int) -> list[EvictedSource]:
        """The evicted sources of a session, spilled bodies included."""
        return [EvictedSource(*row) for row in self._db.all(_EVICTED_OF, {"session": session_id})]

    def evicted_sessions(self) -> set[int]:
        return {session for (session,) in self._db.all(_EVICTED_SESSIONS)}

    def evicted_up_to(self, source_id: int, kept: int) -> int:
        """How much of an evicted source is away: what is here came since, and waits for it."""
        first = self._db.value(_FIRST_PLACE, {"source": source_id})
        return kept if first is None else int(first)

    def count_evicted(self) -> int:
        return int(self._db.value(_COUNT_EVICTED))

    def places(self, source_id: int) -> list[tuple[int, bytes]]:
        """``(start, hash)`` of every pack: what says that an archive still holds the same."""
        return [
            (start, bytes(digest)) for start, digest in self._db.all(_PLACES, {"source": source_id})
        ]

    def drop_raw(self, source: EvictedSource) -> None:
        self._db.execute(_DROP_PACKS, {"source": source.source_id})
        values = msgspec.structs.astuple(source)
        self._db.insert("evicted_sources", EvictedSource.__struct_fields__, [values])

    def freeze(self, session_ids: Collection[int], now: int) -> None:
        """Leave of sessions what stays: their rows, and the usage that counts for them."""
        for statement in (_TAKE_OVER, _DROP_UNCOUNTED, _DROP_COPIES, _EVICT):
            for session in session_ids:
                params = {"session": session}
                self._db.execute(
                    statement, {**params, "now": now} if statement is _EVICT else params
                )

    def put_back(self, source_id: int, packs: Iterable[Pack]) -> None:
        """Packs as they were, where an evicted source has none."""
        columns = ("source_id", "start", "length", "hash", "dictionary_id", "body")
        for pack in packs:
            self._db.insert("packs", columns, [(source_id, *pack)])
        self._db.execute(_FORGET_EVICTION, {"source": source_id})

    def unfreeze(self, session_id: int) -> None:
        """No longer evicted; its events are to be derived from the raw that is back."""
        self._db.execute(_WAKE, {"session": session_id})
        self._db.execute(_NO_LONGER_WAITS, {"session": session_id})

    def dictionaries(self) -> list[tuple[int, str, bytes]]:
        """``(id, flavor, body as stored)``."""
        return [
            (number, flavor, bytes(body)) for number, flavor, body in self._db.all(_DICTIONARIES)
        ]

    def dictionary(self, flavor: str, body: bytes) -> int:
        """The number of a dictionary that an archive brought along."""
        for number, of, known in self.dictionaries():
            if of == flavor and known == body:
                return number
        return self._db.insert_one("dictionaries", ("flavor", "body"), (flavor, body))

    # ------------------------------------------------------------ pins

    def pins(self, now: int) -> dict[str, int | None]:
        """The sessions that stay, with until when; None is for good."""
        return dict(self._db.all(_PINS, {"now": now}))

    def pin(self, uid: str, now: int, until: int | None = None) -> None:
        self.unpin(uid)
        self._db.execute(_PIN, {"uid": uid, "now": now, "until": until})

    def unpin(self, uid: str) -> None:
        self._db.execute(_UNPIN, {"uid": uid})

    # ------------------------------------------------------------ tombstones

    def tombstones(self) -> dict[str, set[str]]:
        """The keys of what was forgotten, by kind."""
        found: dict[str, set[str]] = {}
        for kind, key in self._db.all(_BURIED):
            found.setdefault(kind, set()).add(key)
        return found

    def add_tombstone(
        self, kind: str, key: str, now: int, together_with: str | None = None
    ) -> None:
        """Keep something out; it is let in again together with what it went with."""
        told = {"key": key, "kind": kind, "with": together_with or key, "now": now}
        self._db.execute(_BURY, told)

    def remove_tombstones(self, key: str) -> None:
        self._db.execute(_LIFT, {"key": key})

    def masks(self, source_id: int) -> list[tuple[int, int]]:
        """``(start, length)`` of stretches of a source that were forgotten, in order."""
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
        """Whether a day has passed since the last run, or since anything was first collected."""
        last = self.last_run()
        since = self._db.value(_FIRST_SEEN) if last is None else last[0]
        return since is not None and now - since >= DAY_MS
