"""Keep a sync from storing sessions again that were forgotten: deleted with ``forget``.

A source is not read if all its sessions are forgotten. A source that holds other sessions too is
read, with the records of the forgotten ones blanked: replaced by spaces of the same length, so that
every offset stays valid.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice

from session_memory.adapters.base import Record
from session_memory.core.ids import fit_native_id, make_uid
from session_memory.store.retention import SESSION, SOURCE, session_key, source_key
from session_memory.store.store import Store

Mask = tuple[int, int]
"""Offset and length of a blanked record."""
NO_END = 1 << 62


class Forgotten:
    """All tombstones (hashes of forgotten ids) of a store at one moment. Without tombstones, the
    object is false."""

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
        # A session whose name is not a valid id is stored under a substitute id.
        return session_key(make_uid(flavor, fit_native_id(native)[0])) in self._sessions

    def masks(self, flavor: str, records: Iterable[Record]) -> list[Mask]:
        """The places of records that belong to forgotten sessions and to their new subagents."""
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


def blanked(data: bytes, start: int, masks: Sequence[Mask]) -> bytes:
    """``data``, which begins at offset ``start``, with spaces in place of masked records.

    Newlines stay. ``masks`` are in order and do not overlap.
    """
    end = start + len(data)
    first = max(bisect_right(masks, (start, NO_END)) - 1, 0)
    changed = None
    for place, length in islice(masks, first, None):
        if place >= end:
            break
        low, high = max(place - start, 0), min(place + length - start, len(data))
        if low < high:
            changed = changed or bytearray(data)
            lines = bytes(changed[low:high]).split(b"\n")
            changed[low:high] = b"\n".join(b" " * len(line) for line in lines)
    return data if changed is None else bytes(changed)
