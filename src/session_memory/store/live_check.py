"""Check live sessions: each seq exists once, no message that a path needs is missing, and the
bodies of long messages are intact."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from session_memory.store.database import Database
from session_memory.store.zstandard import zstd

_SESSIONS = """
    select s.id, s.session_id, s.forked_from, s.forked_at, s.lane_id, s.head, s.next_seq,
        count(m.seq), count(distinct m.seq), min(m.seq), max(m.seq)
    from live_sessions s
    left join live_lanes l on l.session_key = s.id
    left join live_messages m on m.lane_id = l.id
    group by s.id, s.session_id, s.forked_from, s.forked_at, s.lane_id, s.head, s.next_seq
    order by s.session_id
"""
_LANES = "select id, session_key, base_lane, base_seq, base_at from live_lanes"
_HELD = "select 1 from live_messages where lane_id = :lane and seq = :seq"
_FOLDS = """
    select s.session_id, f.compact_seq, f.note_lane, f.note_seq, f.members
    from live_folds f join live_sessions s on s.id = f.session_key
    order by s.session_id, f.compact_seq
"""
_UNSETTLED = """
    select s.session_id from live_sessions s
    where not exists (select 1 from live_settings t where t.session_key = s.id)
    order by s.session_id
"""
_UNSPILLED = """
    select distinct m.body from live_messages m
    where m.body is not null and not exists (select 1 from live_bodies b where b.hash = m.body)
"""
_JSON_COLUMNS = ("blocks", "tool_calls", "meta")
_VALUES = """
    select s.session_id, m.seq, m.blocks, m.tool_calls, m.meta
    from live_messages m
    join live_lanes l on l.id = m.lane_id
    join live_sessions s on s.id = l.session_key
"""
_BODIES = "select hash, length, body from live_bodies"

Lanes = dict[int, tuple[int, int | None, int, int]]


def live_findings(db: Database) -> Iterator[str]:
    """The faults of the live sessions, as sentences. Empty if there are none."""
    lanes: Lanes = {row[0]: row[1:] for row in db.all(_LANES)}
    for row in db.all(_SESSIONS):
        yield from _check_session(db, lanes, row)
    for lane, (key, base, seq, _) in lanes.items():
        if base is not None and not _is_on_way(db, lanes, base, seq):
            yield f"live lane {lane} of session {key} starts after message {seq}, which is missing"
    yield from _check_folds(db)
    for row in db.all(_UNSETTLED):
        yield f"live session {row[0]}: its settings are missing"
    yield from _check_bodies(db)


def live_message_findings(db: Database) -> Iterator[str]:
    """Find messages with a JSON value that cannot be read. Texts in a row have no hash to check."""
    for name, seq, *values in db.each(_VALUES):
        for column, value in zip(_JSON_COLUMNS, values, strict=True):
            try:
                if value is not None:
                    json.loads(value)
            except ValueError:
                yield f"live session {name}: {column} of message {seq} cannot be read"


def _check_session(db: Database, lanes: Lanes, row: tuple[Any, ...]) -> Iterator[str]:
    key, name, forked_from, forked_at, lane, head, next_seq, count, distinct, first, last = row
    if count != distinct:
        yield f"live session {name}: {count - distinct} seqs exist twice"
    elif count and (last - first + 1 != count or last != next_seq - 1):
        yield f"live session {name}: seqs {first} to {last} have a gap"
    if count and (first <= forked_at if forked_from is not None else first != 1):
        yield f"live session {name}: its first message is {first}"
    if lane not in lanes or lanes[lane][0] != key:
        yield f"live session {name}: its lane is missing"
    elif head and not _is_on_way(db, lanes, lane, head):
        yield f"live session {name}: its head, message {head}, is missing"


def _is_on_way(db: Database, lanes: Lanes, lane: int | None, seq: int) -> bool:
    """Whether a message is in a lane or in one of the lanes that it continues."""
    while lane is not None and lane in lanes:
        if db.one(_HELD, {"lane": lane, "seq": seq}) is not None:
            return True
        lane = lanes[lane][1]
    return False


def _check_folds(db: Database) -> Iterator[str]:
    for name, fold, lane, seq, members in db.all(_FOLDS):
        if db.one(_HELD, {"lane": lane, "seq": seq}) is None:
            yield f"live session {name}: note {seq} of compaction {fold} is missing"
        try:
            msgspec.json.decode(members, type=list[int])
        except msgspec.DecodeError:
            yield f"live session {name}: the members of compaction {fold} cannot be read"


def _check_bodies(db: Database) -> Iterator[str]:
    for (digest,) in db.all(_UNSPILLED):
        yield f"live body {digest.hex()[:12]} is missing"
    for digest, length, packed in db.each(_BODIES):
        try:
            body = zstd.decompress(packed)
        except zstd.ZstdError:
            yield f"live body {digest.hex()[:12]} cannot be unpacked"
            continue
        if len(body) != length or sha256(body).digest() != digest:
            yield f"live body {digest.hex()[:12]} differs from its hash"
