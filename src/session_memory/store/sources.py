"""Sources: the known native files, how far each was read, and what became of its lines."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from session_memory.core.first_schema import FIRST_PLACE
from session_memory.core.roles import TABLE
from session_memory.store.database import Database, Row
from session_memory.store.row_values import storable


class SourceRow(msgspec.Struct, kw_only=True):
    """One generation of one native file. A rewritten file begins a new generation."""

    id: int = 0
    uid: str = ""
    host: str
    flavor: str
    role: str
    path: str
    home_path: str
    session: str = ""
    agent: str = ""
    generation: int = 0
    superseded: int = 0
    vanished: int = 0
    adapter_version: int = 0
    read_to: int = 0
    cursor_state: str = ""
    kept: int = 0
    tail_hash: str = ""
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    starts_at: int | None = None
    lines: int = 0
    bookkeeping: str = "{}"
    lenient: int = 0
    discovered_at: int = 0
    ingested_at: int | None = None
    redacted_from: int | None = None

    @property
    def is_imported(self) -> bool:
        """Whether an import brought the source, and no sync compared it with the file yet."""
        return self.inode == NO_INODE


class SourcePlace(NamedTuple):
    """Where a source is, and how far its events are in the store: 0 if they were evicted."""

    host: str
    path: str
    session: str
    inode: int
    read_to: int


# The inode of a source that came from a portable file. No file has it, so the next sync of its
# machine compares the file with all that is stored.
NO_INODE = -1
# The adapter version of a source that a rebuild has yet to read.
UNREAD = -1
COLUMNS = SourceRow.__struct_fields__
SELECT = f"select {', '.join(COLUMNS)} from sources"
_KNOWN = f"{SELECT} where host = :host and superseded = 0 order by generation"
_BY_ID = f"{SELECT} where id = :id"
_BY_UID = f"{SELECT} where uid = :uid"
_BY_UIDS = f"{SELECT} where uid in ({{keys}})"
_EXISTS = "select 1 from sources where uid = :uid"
_EVERY = f"{SELECT} order by host, path, generation"
_OF_SESSION = f"{SELECT} where session = :native and flavor = :flavor order by path, generation"
_PLACES = """
    select host, path, session, inode,
        case when id in (select source_id from evicted_sources) then 0 else read_to end
    from sources
    where flavor = :flavor and superseded = 0 order by generation
"""
_READ_BY_SESSION = f"""
    {SELECT} where id in (select source_id from session_sources where session_id = :session)
"""
_READ_BY_SESSIONS = f"""
    select x.session_id, {", ".join("o." + name for name in COLUMNS)}
    from session_sources x join sources o on o.id = x.source_id where x.session_id in ({{keys}})
"""
_IDENTITY = ("id", "uid", "host", "flavor", "path", "generation", "discovered_at")
_CHANGING = [name for name in COLUMNS if name not in _IDENTITY]
_SAVE = f"update sources set {', '.join(f'{n} = :{n}' for n in _CHANGING)} where id = :id"
# Only one column is set, because another process may have read the source further.
_MARK_VANISHED = "update sources set vanished = 1 where id = :id"
_MARK_UNREAD = f"update sources set adapter_version = {UNREAD} where id = :id"
_MARK_SUPERSEDED = "update sources set superseded = 1 where id = :id"
_CURSOR = "select uid, read_to, kept, superseded from sources where id = :id"
_LINES = """
    select id, lines, bookkeeping, kept > read_to
    from sources where role in ('log', 'timeline', 'table', 'rewritten')
"""
_EVENT_LINES = """
    select source_id, count(*) from (select distinct source_id, place from events) lines
    group by source_id
"""
_COPY_LINES = """
    select source_id, count(*) from (
        select source_id, place from copies except select source_id, place from events
    ) lines group by source_id
"""
_PROBLEM_LINES = "select source_id, count(*) from problems where length > 0 group by source_id"
_EVICTED = "select source_id from evicted_sources"
# Lines that came after the eviction are derived when the session is restored.
_NOT_DERIVED = """
    select l.source_id from session_sources l join sessions s on s.id = l.session_id
    where s.evicted_at is not null and s.stale = 1
"""
_BY_VERSION = """
    select flavor, adapter_version, count(*) from sources
    where id not in (select source_id from evicted_sources) group by flavor, adapter_version
"""
_NEWEST_ADAPTERS = "select flavor, max(adapter_version) from sources group by flavor"


# The paths of sources with records of schema version 1. If a session also has a log of its agent,
# these records are copies.
_FIRST = {"first": FIRST_PLACE, "last": f"{FIRST_PLACE[:-1]}0"}
_REPLACED = """
    select o.id from sources o where o.path >= :first and o.path < :last
        and not exists (select 1 from session_sources x where x.source_id = o.id)
"""


_BELOW = """
    select 1 from session_sources x join sources o on o.id = x.source_id
    where x.session_id = :session and o.path >= :first and o.path < :last
"""
_UNLINK_BELOW = """
    delete from session_sources where session_id = :session
        and source_id in (select id from sources where path >= :first and path < :last)
"""


class Account(msgspec.Struct, kw_only=True):
    """The number of lines by what became of them, blank lines aside. ``unaccounted`` must be 0.

    ``unfinished`` counts last lines that are not whole yet. They are not in ``lines``.
    """

    lines: int = 0
    events: int = 0
    bookkeeping: int = 0
    copies: int = 0
    problems: int = 0
    unaccounted: int = 0
    unfinished: int = 0
    bookkeeping_kinds: dict[str, int] = {}


class Sources:
    def __init__(self, db: Database) -> None:
        self._db = db

    def known(self, host: str) -> dict[str, SourceRow]:
        """The newest generation of every source of ``host``, by path."""
        return {row.path: row for row in self._rows(_KNOWN, {"host": host})}

    def known_at(self, host: str, paths: Collection[str]) -> dict[str, SourceRow]:
        """The newest generation for these paths only. The cost does not depend on other sources.

        A source is found by its uid, which depends on its generation. A document may have hundreds
        of generations, so each query asks for twice as many as the one before.
        """
        newest: dict[str, SourceRow] = {}
        first, count = 0, 1
        while paths:
            generations = range(first, first + count)
            uids = [source_uid(host, path, number) for path in paths for number in generations]
            rows = [to_source_row(values) for values in self._db.matching(_BY_UIDS, uids)]
            rows.sort(key=lambda row: row.generation)
            newest.update((row.path, row) for row in rows if not row.superseded)
            paths = {row.path for row in rows if row.generation == generations[-1]} - newest.keys()
            first, count = first + count, count * 2
        return newest

    def is_empty(self) -> bool:
        return self._db.one("select 1 from sources limit 1") is None

    def exists(self, host: str, path: str, generation: int) -> bool:
        uid = source_uid(host, path, generation)
        return self._db.one(_EXISTS, {"uid": uid}) is not None

    def free_generation(self, host: str, path: str, first: int) -> int:
        """The first generation from ``first`` on that no import and no rewritten file has taken.

        A stored generation that is current is returned too: another process is reading the file.
        """
        while True:
            row = self.by_uid(source_uid(host, path, first))
            if row is None or not (row.is_imported or row.superseded):
                return first
            first += 1

    def read_by_version(self) -> list[tuple[str, int, int]]:
        """``(flavor, version of the adapter, sources)``, without evicted sources: these are read
        again when they are restored."""
        return [(row[0], row[1], int(row[2])) for row in self._db.all(_BY_VERSION)]

    def every(self) -> list[SourceRow]:
        return self._rows(_EVERY, {})

    def get(self, source_id: int) -> SourceRow:
        return self._rows(_BY_ID, {"id": source_id})[0]

    def by_uid(self, uid: str) -> SourceRow | None:
        return next(iter(self._rows(_BY_UID, {"uid": uid})), None)

    def named_for(self, flavor: str, native: str) -> list[SourceRow]:
        """Sources whose path names the session, including spilled bodies."""
        return self._rows(_OF_SESSION, {"flavor": flavor, "native": native})

    def places(self, flavor: str) -> list[SourcePlace]:
        """How far the events of every source of an agent go, the newest generation last."""
        return [SourcePlace(*row) for row in self._db.all(_PLACES, {"flavor": flavor})]

    def read_by(self, session_id: int) -> list[SourceRow]:
        """Sources with records of the session, in reading order."""
        return sorted(self._rows(_READ_BY_SESSION, {"session": session_id}), key=reading_order)

    def read_by_each(self, session_ids: Sequence[int]) -> dict[int, list[SourceRow]]:
        """For each session the sources with its records, in reading order."""
        found: dict[int, list[SourceRow]] = {one: [] for one in session_ids}
        for session_id, *values in self._db.matching(_READ_BY_SESSIONS, session_ids):
            found[session_id].append(to_source_row(tuple(values)))
        return {one: sorted(sources, key=reading_order) for one, sources in found.items()}

    def _rows(self, sql: str, params: dict[str, Any]) -> list[SourceRow]:
        return [to_source_row(values) for values in self._db.all(sql, params)]

    def save(self, row: SourceRow) -> None:
        """Insert the row, or update it if it has an id."""
        if row.id:
            self._db.execute(_SAVE, storable(row))
        else:
            row.uid = source_uid(row.host, row.path, row.generation)
            values = list(storable(row).values())
            row.id = self._db.insert_one("sources", COLUMNS[1:], values[1:])

    def mark_vanished(self, source_id: int) -> None:
        self._db.execute(_MARK_VANISHED, {"id": source_id})

    def mark_unread(self, source_id: int) -> None:
        """Mark that a rebuild must read the source. If the rebuild is killed, the next one does."""
        self._db.execute(_MARK_UNREAD, {"id": source_id})

    def mark_superseded(self, source_id: int) -> None:
        self._db.execute(_MARK_SUPERSEDED, {"id": source_id})

    def newest_adapters(self) -> dict[str, int]:
        """Each flavor with the newest version of its adapter that read one of its sources."""
        return dict(self._db.all(_NEWEST_ADAPTERS))

    def was_read_by_others(self, row: SourceRow) -> bool:
        """Whether another process has read or forgotten the source since ``row`` was loaded."""
        cursor = self._db.one(_CURSOR, {"id": row.id})
        return cursor != (row.uid, row.read_to, row.kept, row.superseded)

    def unlink_first(self, session_id: int) -> bool:
        """Detach the records of schema version 1 from a session. Returns whether it had some."""
        below = {"session": session_id, **_FIRST}
        if self._db.one(_BELOW, below) is None:
            return False
        self._db.execute(_UNLINK_BELOW, below)
        return True

    def account(self) -> dict[int, Account]:
        """Source id → account of its lines, counted from the stored events and problems."""
        events, copies, problems = (
            {row[0]: row[1] for row in self._db.all(sql)}
            for sql in (_EVENT_LINES, _COPY_LINES, _PROBLEM_LINES)
        )
        accounts = {}
        replaced = {row[0] for row in self._db.all(_REPLACED, _FIRST)}
        evicted = {row[0] for sql in (_EVICTED, _NOT_DERIVED) for row in self._db.all(sql)}
        for source, lines, kinds, is_torn in self._db.all(_LINES):
            counted = json.loads(kinds)
            account = Account(
                lines=lines,
                events=events.get(source, 0),
                copies=copies.get(source, 0),
                problems=problems.get(source, 0),
                bookkeeping=sum(counted.values()),
                bookkeeping_kinds=counted,
                unfinished=int(is_torn),
            )
            if source in replaced:
                account.copies = lines - account.problems
            known = account.events + account.copies + account.problems + account.bookkeeping
            # The events of an evicted source are not here, so its lines cannot be counted.
            account.unaccounted = 0 if source in evicted else lines - known
            accounts[source] = account
        return accounts


def to_source_row(values: Row) -> SourceRow:
    """The row of a source from the values of `COLUMNS`."""
    return SourceRow(**dict(zip(COLUMNS, values, strict=True)))


_COUNTS = ("lines", "events", "bookkeeping", "copies", "problems", "unaccounted", "unfinished")


def total(accounts: dict[int, Account]) -> Account:
    kinds: Counter[str] = Counter()
    whole = Account()
    for account in accounts.values():
        kinds.update(account.bookkeeping_kinds)
        for name in _COUNTS:
            setattr(whole, name, getattr(whole, name) + getattr(account, name))
    whole.bookkeeping_kinds = dict(sorted(kinds.items()))
    return whole


def reading_order(row: SourceRow) -> tuple[bool, bool, bool, int, str, int, str]:
    """A sort key: timelines first, then by start of the source, path, generation and host.

    A timeline is read before the log, because it has details of the calls in the log. The rows of
    an imported live session continue the log of its origin, which may have no times.
    """
    continues = row.role == TABLE and bool(row.agent)
    unknown, start = row.starts_at is None, row.starts_at or 0
    is_log = row.role != "timeline"
    return (is_log, continues, unknown, start, row.path, row.generation, row.host)


def source_uid(host: str, path: str, generation: int) -> str:
    """The uid of a generation of a file. It is the same in every store."""
    identity = "\0".join((host, path, str(generation)))
    return sha256(identity.encode()).hexdigest()[:16]
