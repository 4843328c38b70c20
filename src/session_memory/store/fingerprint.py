"""Equality of stores: one hash over everything but watermarks, row ids and pack boundaries."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from session_memory.store.store import Store

# What depends on when and how often we looked, not on what there was to see.
WATERMARKS = (
    "discovered_at",
    "ingested_at",
    "analyzed_at",
    "evicted_at",
    "revision",
    "analyzed_revision",
)


def fingerprint(store: "Store") -> str:
    """The same for two stores that hold the same, however they came by it."""
    digest = sha256()
    with store.db.snapshot():
        for part in _parts(store):
            digest.update(msgspec.json.encode(part, order="sorted"))
            digest.update(b"\n")
    return digest.hexdigest()


def _parts(store: "Store") -> Iterator[Any]:
    yield from _sources(store)
    for uid in store.sessions.uids():
        yield from session_parts(store, uid)
    for problem in store.problems.every():
        yield ["problem", *problem[:6]]


def _sources(store: "Store") -> Iterator[Any]:
    for row in store.sources.every():
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
            _hash(store.raw.pieces(row.id)),
        ]


def _hash(pieces: Iterable[bytes]) -> str:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def session_parts(store: "Store", uid: str) -> Iterator[Any]:
    """Everything about one session, as plain values."""
    session, row = store.sessions.get(uid), store.sessions.row(uid)
    if session is None or row is None:
        return
    values = session.to_dict()
    yield ["session", {name: value for name, value in values.items() if name not in WATERMARKS}]
    for event in store.events.of(row.id, uid):
        yield ["event", event.to_dict()]
    for seq, event in store.events.inherited(row.id):
        yield ["inherits", uid, seq, event.session_uid, event.event_uid]
    for usage in store.usage.of(row.id, uid):
        yield ["usage", usage.to_dict()]
