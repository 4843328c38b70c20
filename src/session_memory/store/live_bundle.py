"""Convert a live session to lines of JSON with all its rows, and back.

The lines have no row ids: a lane is named by its session and its number among the lanes of that
session. So a session can be written to another store, and equal rows give equal lines.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.store.database import Database
from session_memory.store.zstandard import zstd

FORMAT, VERSION = "session-memory-live", 1
_SESSION = "select {columns} from live_sessions where session_id = :native"
_KEY = "select id, lane_id from live_sessions where session_id = :native"
# The tables of a session: how its rows are selected and ordered, and which columns name a lane.
_LANES = "live_lanes"
_PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "live_settings": ("session_key = :key", ()),
    _LANES: ("session_key = :key order by id", ("base_lane",)),
    "live_messages": (
        "lane_id in (select id from live_lanes where session_key = :key) order by lane_id, seq",
        ("lane_id",),
    ),
    "live_folds": ("session_key = :key order by compact_seq", ("note_lane",)),
    "live_moves": ("session_key = :key order by id", ("from_lane", "to_lane")),
    "live_usage": ("session_key = :key order by id", ()),
    "live_imports": ("session_key = :key", ()),
    "live_keys": ("session_key = :key order by append_key", ()),
}
_BODIES = """
    select hash, body from live_bodies where hash in (
        select m.body from live_messages m join live_lanes l on l.id = m.lane_id
        where l.session_key = :key and m.body is not null
    ) order by hash
"""
_NUMBERED = """
    select s.session_id, (select count(*) from live_lanes o
        where o.session_key = l.session_key and o.id <= l.id)
    from live_lanes l join live_sessions s on s.id = l.session_key where l.id = :lane
"""
_LANE_OF = """
    select l.id from live_lanes l join live_sessions s on s.id = l.session_key
    where s.session_id = :owner order by l.id limit 1 offset :skip
"""
_SET_LANE = "update live_sessions set lane_id = :lane where id = :key"
_HAS_BODY = "select 1 from live_bodies where hash = :hash"
_ORIGINS = """
    select s.session_id from live_lanes l join live_lanes b on b.id = l.base_lane
    join live_sessions s on s.id = b.session_key where l.session_key = :key
    union
    select s.session_id from live_folds f join live_lanes b on b.id = f.note_lane
    join live_sessions s on s.id = b.session_key where f.session_key = :key
"""
_TIMES = ("created_at", "updated_at", "undone_at")
_LATEST = 253_402_300_799_999
# The live store counts with these numbers, from 0 on. A file from outside must not set one to the
# limit of the database: then every later write would fail.
_COUNTERS = ("head", "next_seq", "send_index", "last_compact_seq", "fence", "revision")
_MOST = 1 << 53
_BLOBS = {"live_messages": "body", "live_keys": "append_key"}
_encode = msgspec.json.Encoder(order="sorted").encode


def with_origins(db: Database, natives: Iterable[str]) -> list[str]:
    """These sessions and the sessions whose messages they continue. Origins precede their forks."""
    found: dict[str, None] = {}
    for native in natives:
        chain = [native]
        for one in chain:
            key = db.one(_KEY, {"native": one})
            names = [] if key is None else [row[0] for row in db.all(_ORIGINS, {"key": key[0]})]
            chain += sorted(set(names) - set(chain))
        found.update(dict.fromkeys(reversed([one for one in chain if one not in found])))
    return list(found)


# ---------------------------------------------------------------- writing


def dump(db: Database, native: str) -> Iterator[bytes]:
    """All rows of a session as lines. No line if there is no such session."""
    found = db.one(_KEY, {"native": native})
    if found is None:
        return
    key, lane = found
    columns = [name for name in db.columns("live_sessions") if name not in ("id", "lane_id")]
    row = db.one(_SESSION.format(columns=", ".join(columns)), {"native": native})
    lanes = _LaneNames(db)
    session = dict(zip(columns, row or (), strict=True)) | {"lane_id": lanes.name(lane)}
    yield _line({"format": FORMAT, "version": VERSION, "session": _without_nulls(session)})
    for digest, packed in db.all(_BODIES, {"key": key}):
        body = zstd.decompress(bytes(packed)).decode()
        yield _line({"table": "live_bodies", "hash": bytes(digest).hex(), "body": body})
    for table, (where, naming) in _PARTS.items():
        columns = [name for name in db.columns(table) if name not in ("id", "session_key")]
        sql = f"select {', '.join(columns)} from {table} where {where}"
        for values in db.all(sql, {"key": key}):
            row_of = dict(zip(columns, values, strict=True))
            row_of |= {name: lanes.name(row_of[name]) for name in naming}
            if (blob := _BLOBS.get(table)) and row_of[blob] is not None:
                row_of[blob] = bytes(row_of[blob]).hex()
            yield _line({"table": table, **_without_nulls(row_of)})


class _LaneNames:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._names: dict[int, list[Any] | None] = {}

    def name(self, lane: int | None) -> list[Any] | None:
        """``[session, number]`` of a lane."""
        if lane is None:
            return None
        if lane not in self._names:
            row = self._db.one(_NUMBERED, {"lane": lane})
            self._names[lane] = None if row is None else list(row)
        return self._names[lane]


def _line(row: dict[str, Any]) -> bytes:
    return _encode(row) + b"\n"


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


# ---------------------------------------------------------------- reading


def load(db: Database, lines: Iterable[bytes]) -> str:
    """Insert a session from its lines, inside a transaction, and return its id.

    Its lease is free afterwards. The sessions that it continues must be in the store. Values are
    hardly checked; use `session_memory.retain.live_files` for lines from outside.
    """
    rows = (msgspec.json.decode(line, type=dict[str, Any]) for line in lines)
    first = next(rows, {})
    session = first.get("session")
    if first.get("format") != FORMAT or not isinstance(session, dict):
        raise InvalidRecord("these lines are not a live session", field="format")
    if first.get("version") != VERSION:
        found = first.get("version")
        raise InvalidRecord(f"unknown version {found} of the lines", field="version")
    return _Loading(db, session).load(rows)


class _Loading:
    def __init__(self, db: Database, session: dict[str, Any]) -> None:
        self._db = db
        self._session = session
        self._native = str(session.get("session_id"))
        self._own: list[int] = []
        self._bodies: dict[str, bytes] = {}
        self._key = 0
        self._columns: dict[str, list[str]] = {}

    def load(self, rows: Iterator[dict[str, Any]]) -> str:
        head = {**self._session, "lane_id": 0, "lease_owner": None, "lease_until": 0}
        _check_numbers(head, _COUNTERS, _MOST)
        self._key = self._insert("live_sessions", head)
        for row in rows:
            table = row.pop("table", None)
            if table == "live_bodies":
                self._add_body(row)
            elif table in _PARTS:
                self._add(table, row)
            else:
                raise InvalidRecord("a row of an unknown table", field="table")
        lane = self._lane(self._session.get("lane_id"))
        self._db.execute(_SET_LANE, {"lane": lane, "key": self._key})
        return self._native

    def _add(self, table: str, row: dict[str, Any]) -> None:
        for name in _PARTS[table][1]:
            row[name] = self._lane(row.get(name))
        if table != "live_messages":
            row["session_key"] = self._key
        elif row["lane_id"] not in self._own:
            raise InvalidRecord("a message in a lane of another session", field="lane_id")
        if table == "live_messages" and row.get("body") is not None:
            row["body"] = self._body(row["body"])
        elif table == "live_imports":
            # The next sync finds out whether this store has the log of the origin.
            row["is_collected"] = 0
        elif table == "live_keys":
            row["append_key"] = bytes.fromhex(row["append_key"])
        number = self._insert(table, row)
        if table == _LANES:
            self._own.append(number)

    def _add_body(self, row: dict[str, Any]) -> None:
        body = str(row.get("body")).encode()
        digest = sha256(body).digest()
        self._bodies[str(row.get("hash"))] = digest
        if self._db.one(_HAS_BODY, {"hash": digest}) is None:
            values = (digest, len(body), zstd.compress(body, 3))
            self._db.insert("live_bodies", ("hash", "length", "body"), [values])

    def _body(self, name: Any) -> bytes:
        if name not in self._bodies:
            raise InvalidRecord("the body of a message is missing", field="body")
        return self._bodies[name]

    def _lane(self, name: Any) -> int | None:
        if name is None:
            return None
        owner, number = msgspec.convert(name, tuple[str, int])
        if owner == self._native:
            if not 1 <= number <= len(self._own):
                raise InvalidRecord("a lane that is not there", field="lane_id")
            return self._own[number - 1]
        lane = self._db.value(_LANE_OF, {"owner": owner, "skip": number - 1}) if number > 0 else 0
        if not lane:
            message = f"it continues live session {owner}, which is not in the store"
            raise InvalidRecord(message, field="base_lane")
        return int(lane)

    def _insert(self, table: str, row: dict[str, Any]) -> int:
        known = self._columns.setdefault(table, []) or self._db.columns(table)
        self._columns[table] = known
        _check_numbers(row, _TIMES, _LATEST)
        columns = [name for name in known if name in row and name != "id"]
        values = [row[name] for name in columns]
        if "id" in known:
            return self._db.insert_one(table, columns, values)
        self._db.insert(table, columns, [values])
        return 0


def _check_numbers(row: dict[str, Any], names: Iterable[str], most: int) -> None:
    """Raise if a number is out of range. The tables check that it is a whole number."""
    for name in names:
        value = row.get(name)
        if isinstance(value, int | float) and not 0 <= value <= most:
            raise InvalidRecord(f"{name} is {value}", field=name)
