"""Blank the records of forgotten sessions in stored logs that hold other sessions too."""

import hashlib
from collections.abc import Callable

import msgspec

from session_memory.adapters.base import Record
from session_memory.core.roles import LOGS
from session_memory.derive.forgotten import blanked
from session_memory.derive.line_counts import LineCounts
from session_memory.derive.live_sources import is_table
from session_memory.derive.raw_source import stored_places, stored_records
from session_memory.store.raw import compressor, packed
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

_REPACK = """
    update packs set hash = :hash, dictionary_id = null, body = :body
    where source_id = :source and start = :start
"""


def mask_stored(store: Store, row: SourceRow, is_gone: Callable[[str], bool]) -> set[str]:
    """Blank the records of the sessions whose native id ``is_gone``, in a stored source.

    Lines are counted again, without blanked ones. Returns the native ids of the other sessions
    whose records are read differently from now on, because an earlier line is missing.
    """
    masks, before = [], _RecordHashes()
    for record in stored_records(store, row):
        if record.problem is None and is_gone(record.session):
            masks.append((record.offset, record.length))
        else:
            before.add(record)
    if not masks:
        return set()
    masks.sort()
    for pack in list(store.raw.packs(row.id)):
        data = store.raw.unpacked(row.id, pack)
        changed = blanked(data, pack.start, masks)
        if changed is not data:
            repacked = packed(changed, pack.start, compressor())
            place = {"source": row.id, "start": pack.start}
            store.db.execute(_REPACK, {**place, "hash": repacked.hash, "body": repacked.body})
    store.retention.add_masks(row.id, masks)
    store.problems.drop_within(row.id, masks)
    return before.differences(_counted_again(store, row))


def _counted_again(store: Store, row: SourceRow) -> "_RecordHashes":
    """Count the lines of a source again, and save the state in which reading it ends."""
    counts, after = LineCounts(), _RecordHashes()
    state = ""
    for cursor, record in stored_places(store, row):
        counts.add([record])
        after.add(record)
        if cursor.offset <= row.read_to:
            state = cursor.state
    row.lines = row.lenient = 0
    row.bookkeeping = "{}"
    counts.add_to(row)
    if row.role in LOGS and not is_table(row):
        row.cursor_state = state
    store.sources.save(row)
    return after


class _RecordHashes:
    """A hash of the records of each session of a source, to notice which sessions change."""

    def __init__(self) -> None:
        self._hashes: dict[str, hashlib.blake2b] = {}

    def add(self, record: Record) -> None:
        if record.problem is None:
            known = self._hashes.get(record.session)
            if known is None:
                known = self._hashes[record.session] = hashlib.blake2b(digest_size=16)
            known.update(msgspec.msgpack.encode(record, enc_hook=repr))

    def differences(self, other: "_RecordHashes") -> set[str]:
        names = self._hashes.keys() | other._hashes.keys()
        return {name for name in names if self._digest(name) != other._digest(name)}

    def _digest(self, name: str) -> bytes:
        known = self._hashes.get(name)
        return b"" if known is None else known.digest()
