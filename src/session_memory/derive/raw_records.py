"""The bytes of single records in the stored logs, by the ``payload_ref`` of their event."""

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


class RawRecords:
    """Reads single records. Neighbours usually lie in the pack that was read last."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[str, SourceRow | None] = {}
        self._window: tuple[str, int, bytes] = ("", 0, b"")

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
            return LiveRows(self._store.db).line_at(row.session, place.offset)
        known, start, data = self._window
        end = place.offset + place.length
        if known != row.uid or not start <= place.offset <= end <= start + len(data):
            start, data = place.offset, self._store.raw.from_place(row.id, place.offset)
            if len(data) < place.length:
                return self._store.raw.record(row.id, place.offset, place.length)
            self._window = (row.uid, start, data)
        return data[place.offset - start : end - start]
