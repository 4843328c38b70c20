"""Sessions that the user had forgotten: a sync must not store them again.

A source of which all sessions are forgotten is not read. A source that holds other sessions too
is read, with the records of the forgotten ones blanked: replaced by spaces of the same length, so
that every offset stays valid.
"""

from collections.abc import Callable, Iterable

from session_memory.adapters.base import Record
from session_memory.core.ids import make_uid
from session_memory.derive.raw_source import stored_records
from session_memory.store.raw import compressor, packed
from session_memory.store.retention import SESSION, SOURCE, session_key, source_key
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

Mask = tuple[int, int]
"""Offset and length of a blanked record."""

_REPACK = """
    update packs set hash = :hash, dictionary_id = null, body = :body
    where source_id = :source and start = :start
"""


class Forgotten:
    """All tombstones of a store at one moment. It is false when there are none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._orphans: dict[str, str] = {}
        tombstones = store.retention.tombstones()
        self._sessions = tombstones.get(SESSION, set())
        self._sources = tombstones.get(SOURCE, set())

    def __bool__(self) -> bool:
        return bool(self._sessions or self._sources)

    def holds_source(self, host: str, path: str) -> bool:
        return bool(self._sources) and source_key(host, path) in self._sources

    def holds_session(self, flavor: str, native: str) -> bool:
        if not (self._sessions and native):
            return False
        return session_key(make_uid(flavor, native)) in self._sessions

    def masks(self, flavor: str, records: Iterable[Record]) -> list[Mask]:
        """The records of forgotten sessions and of their new subagents."""
        forgotten: dict[str, bool] = {}
        masks = []
        for record in records:
            if record.problem is not None:
                continue
            if record.session not in forgotten:
                is_held = self.holds_session(flavor, record.session)
                forgotten[record.session] = is_held or self._is_orphan(flavor, record)
            if forgotten[record.session]:
                masks.append((record.offset, record.length))
        return masks

    def _is_orphan(self, flavor: str, record: Record) -> bool:
        """Whether a record is of a new subagent of a forgotten session.

        A subagent that is stored already was kept on purpose when its parent was forgotten.
        """
        uid, parent = make_uid(flavor, record.session), record.parent_session or ""
        is_child = record.relation in (None, "subagent") and self.holds_session(flavor, parent)
        if is_child and self._store.sessions.row(uid) is None:
            self._orphans[session_key(uid)] = session_key(make_uid(flavor, parent))
        return session_key(uid) in self._orphans

    def bury_orphans(self, now: int) -> None:
        """Store tombstones for new subagents of forgotten sessions, inside a transaction.

        Later records of such a subagent may not name its parent.
        """
        for child, parent in self._orphans.items():
            self._store.retention.add_tombstone(SESSION, child, now, parent)


def blanked(data: bytes, start: int, masks: Iterable[Mask]) -> bytes:
    """``data``, which begins at offset ``start``, with spaces in place of masked records."""
    changed = None
    for place, length in masks:
        first, end = max(place - start, 0), min(place + length - start, len(data))
        if first < end:
            changed = changed or bytearray(data)
            lines = bytes(changed[first:end]).split(b"\n")
            changed[first:end] = b"\n".join(b" " * len(line) for line in lines)
    return data if changed is None else bytes(changed)


def mask_stored(store: Store, row: SourceRow, is_gone: Callable[[str], bool]) -> list[Mask]:
    """Blank the records of some sessions, by native id, in a stored source."""
    masks = [
        (record.offset, record.length)
        for record in stored_records(store, row)
        if record.problem is None and is_gone(record.session)
    ]
    if not masks:
        return []
    for pack in list(store.raw.packs(row.id)):
        data = store.raw.unpacked(row.id, pack)
        changed = blanked(data, pack.start, masks)
        if changed is not data:
            repacked = packed(changed, pack.start, compressor())
            place = {"source": row.id, "start": pack.start}
            store.db.execute(_REPACK, {**place, "hash": repacked.hash, "body": repacked.body})
    store.retention.add_masks(row.id, masks)
    return masks
