"""Read the bytes of single records in the stored logs, by the ``payload_ref`` of their event."""

from typing import NamedTuple

from session_memory.core.schema import SessionEvent
from session_memory.derive.live_sources import is_table
from session_memory.store.live_rows import LiveRows
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


class RecordPlace(NamedTuple):
    """Where an event comes from: ``<source uid>@<offset>+<length>#<block>``."""

    source: str
    offset: int
    length: int
    block: int


def place_of(event: SessionEvent) -> RecordPlace:
    """The place that an event's ``payload_ref`` names; an empty one when it has none."""
    return parsed_ref(event.payload_ref or "")


def parsed_ref(ref: str) -> RecordPlace:
    """A ``payload_ref`` in its parts."""
    source, _, rest = ref.partition("@")
    offset, _, rest = rest.partition("+")
    length, _, block = rest.partition("#")
    return RecordPlace(source, int(offset or 0), int(length or 0), int(block or 0))


# At most this many bytes of unpacked packs are kept (or one pack). A search reads the same packs
# several times: once for prompts, once for outputs, and so on.
KEPT_BYTES = 16 * 1024 * 1024


class RawRecords:
    """Reads single records. The packs read last are kept, because the next record is often in one
    of them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[str, SourceRow | None] = {}
        # The packs that were read last, the latest at the end: source and start → bytes.
        self._packs: dict[tuple[str, int], bytes] = {}
        self._size = 0

    def source(self, uid: str) -> SourceRow | None:
        """The row of a source; None when the store has no such source any more."""
        if uid not in self._sources:
            self._sources[uid] = self._store.sources.by_uid(uid)
        return self._sources[uid]

    def at(self, place: RecordPlace) -> bytes:
        """The bytes of a record; empty once its stored log was evicted."""
        row = self.source(place.source)
        if row is None:
            return b""
        if is_table(row) and not row.kept:
            return LiveRows(self._store.db).line_at(row.session, place.offset, row.starts_at)
        start, data = self._pack(row, place.offset)
        if start + len(data) < place.offset + place.length:
            return self._store.raw.record(row.id, place.offset, place.length)
        return data[place.offset - start : place.offset - start + place.length]

    def _pack(self, row: SourceRow, offset: int) -> tuple[int, bytes]:
        """The start and the bytes of the pack that contains ``offset``."""
        for uid, start in reversed(self._packs):
            if uid == row.uid and start <= offset < start + len(self._packs[uid, start]):
                data = self._packs.pop((uid, start))
                self._packs[uid, start] = data
                return start, data
        start, data = self._store.raw.around(row.id, offset)
        self._packs[row.uid, start] = data
        self._size += len(data)
        while self._size > KEPT_BYTES and len(self._packs) > 1:
            self._size -= len(self._packs.pop(next(iter(self._packs))))
        return start, data
