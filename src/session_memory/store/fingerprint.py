"""The fingerprint of a store: a hash of its content, for comparing two stores.

Watermarks, row ids and pack boundaries are not part of it.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory.core.errors import StoreDamaged

if TYPE_CHECKING:
    from session_memory.store.sources import SourceRow
    from session_memory.store.store import Store

# These depend on when and how often a store was synced, not on what it holds.
WATERMARKS = (
    "discovered_at",
    "ingested_at",
    "analyzed_at",
    "evicted_at",
    "revision",
    "analyzed_revision",
    # These two are results of an analysis, which may not have run yet.
    "outcome",
    "outcome_evidence",
)


def fingerprint(store: "Store", *, damaged: list[int] | None = None) -> str:
    """Return a hash that is equal for two stores with the same content, however it was collected.

    With a list ``damaged``, a log that cannot be unpacked is hashed in its compressed form, and the
    id of its source is added to the list. Use it to compare a copy with a damaged store.
    """
    digest = sha256()
    with store.db.snapshot():
        for part in _parts(store, damaged):
            digest.update(msgspec.json.encode(part, order="sorted"))
            digest.update(b"\n")
    return digest.hexdigest()


def _parts(store: "Store", damaged: list[int] | None = None) -> Iterator[Any]:
    yield from _sources(store, damaged)
    for uid in store.sessions.uids():
        yield from session_parts(store, uid)
    for problem in store.problems.every():
        yield ["problem", *problem[:6]]
    yield from _live(store)


# Row ids differ between equal stores, so a lane is identified by its session and its number among
# the lanes of that session.
_NUMBERED = """
    with numbered as (
        select l.id, s.session_id as owner, l.base_lane, l.base_seq, l.base_at, l.base_limit,
            row_number() over (partition by l.session_key order by l.id) as number
        from live_lanes l join live_sessions s on s.id = l.session_key
    )
"""
_LIVE = (
    f"""
    {_NUMBERED}
    select s.session_id, s.created_at, s.updated_at, t.system_prompt, s.model, t.config, s.status,
        s.kind, s.parent_session_id, s.detached_from, s.spawn_tool_call_id, s.spawn_depth,
        s.lifecycle, t.metadata, s.title, s.provider, s.cwd, s.api_base, s.forked_from,
        s.forked_at, n.number, s.head, s.next_seq, s.round_index, s.send_index,
        s.last_compact_seq, s.fence, s.lease_owner, s.lease_until, t.pending, t.pending_seq
    from live_sessions s
    join live_settings t on t.session_key = s.id
    left join numbered n on n.id = s.lane_id
    order by s.session_id
    """,
    f"""
    {_NUMBERED}
    select n.owner, n.number, b.owner, b.number, n.base_seq, n.base_at, n.base_limit
    from numbered n left join numbered b on b.id = n.base_lane order by n.owner, n.number
    """,
    f"""
    {_NUMBERED}
    select n.owner, n.number, m.seq, m.stands_after, m.role, m.name, m.content, m.blocks,
        m.tool_calls, m.tool_call_id, m.round_index, m.meta, m.body, m.created_at
    from live_messages m join numbered n on n.id = m.lane_id order by n.owner, n.number, m.seq
    """,
    f"""
    {_NUMBERED}
    select s.session_id, f.compact_seq, n.owner, n.number, f.note_seq, f.from_seq, f.to_seq,
        f.members, f.before_tokens, f.after_tokens, f.round_index, f.created_at, f.undone_at
    from live_folds f
    join live_sessions s on s.id = f.session_key
    join numbered n on n.id = f.note_lane
    order by s.session_id, f.compact_seq
    """,
    f"""
    {_NUMBERED}
    select s.session_id, v.kind, a.number, v.from_head, b.number, v.to_head, v.created_at,
        v.undone_at
    from live_moves v
    join live_sessions s on s.id = v.session_key
    join numbered a on a.id = v.from_lane
    join numbered b on b.id = v.to_lane
    order by s.session_id, v.id
    """,
    """
    select s.session_id, u.send_index, u.round_index, u.prompt_tokens, u.completion_tokens,
        u.total_tokens, u.cache_read_tokens, u.cache_write_tokens, u.model, u.created_at
    from live_usage u join live_sessions s on s.id = u.session_key order by s.session_id, u.id
    """,
    """
    select s.session_id, k.append_key, k.seq, k.count
    from live_keys k join live_sessions s on s.id = k.session_key
    order by s.session_id, k.append_key
    """,
)


def _live(store: "Store") -> Iterator[Any]:
    for statement in _LIVE:
        for row in store.db.each(statement):
            yield ["live", *row]


def _sources(store: "Store", damaged: list[int] | None) -> Iterator[Any]:
    evicted = store.retention.evicted()
    for row in store.sources.every():
        eviction = evicted.get(row.id)
        yield [
            "source",
            row.host,
            row.flavor,
            row.role,
            row.path,
            row.home_path,
            row.generation,
            row.superseded,
            row.kept,
            row.lines,
            row.bookkeeping,
            row.starts_at,
            _log_hash(store, row, damaged) if eviction is None else eviction.digest,
        ]


def _log_hash(store: "Store", row: "SourceRow", damaged: list[int] | None) -> str:
    if damaged is not None and store.raw.is_incomplete(row.id, row.kept):
        damaged.append(row.id)
        return _hash(pack.body for pack in store.raw.packs(row.id))
    try:
        return _hash(store.raw.pieces(row.id))
    except StoreDamaged as error:
        if damaged is None or error.in_database:
            raise
        damaged.append(row.id)
        return _hash(pack.body for pack in store.raw.packs(row.id))


def _hash(pieces: Iterable[bytes]) -> str:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def session_parts(store: "Store", uid: str) -> Iterator[Any]:
    """The content of one session as plain values."""
    session, row = store.sessions.get(uid), store.sessions.row(uid)
    if session is None or row is None:
        return
    values = session.to_dict()
    yield ["session", {name: value for name, value in values.items() if name not in WATERMARKS}]
    for event in store.events.each_of(row.id, uid):
        yield ["event", event.to_dict()]
    for seq, event in store.events.inherited(row.id):
        yield ["inherits", uid, seq, event.session_uid, event.event_uid]
    for usage in store.usage.of(row.id, uid):
        yield ["usage", usage.to_dict()]
