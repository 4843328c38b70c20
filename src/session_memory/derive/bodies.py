"""The whole text of events, read from the stored logs: what was said, thought, called and printed.

The table of events has only one line of each text. The installed adapter reads the record again, so
nothing is stored twice, and a newer adapter gives better texts.
"""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from session_memory.adapters import neutral
from session_memory.adapters.base import Cursor, NativeEvent, Record, SourceRef
from session_memory.adapters.checked_reading import adapter_failures, reading_of, texts_of
from session_memory.adapters.event_text import event_text
from session_memory.core.errors import AdapterFailed
from session_memory.core.schema import SessionEvent
from session_memory.derive.raw_records import RawRecords, RecordPlace, place_of
from session_memory.derive.raw_source import RawSource, stored_records
from session_memory.derive.readers import note_substitute, reader_of
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


class Body(msgspec.Struct, frozen=True):
    """The whole text of an event. ``arguments`` are the arguments of a call, as they are in the
    log."""

    text: str = ""
    arguments: Any = None


NOTHING = Body()
MOST_KEPT = 16


def bodies_in(store: Store, source: SourceRow, native: str) -> Iterator[tuple[int, int, Body]]:
    """``(place, block, body)`` of a session's events in one source. Chunks of a message are
    joined."""
    waiting = _OpenRecord()
    for record in stored_records(store, source):
        if record.session != native or record.problem is not None:
            continue
        if record.continues:
            waiting.texts.append(record.text)
        elif record.events:
            yield from waiting.bodies()
            waiting = _OpenRecord(record)
    yield from waiting.bodies()


class _OpenRecord:
    """A record whose last event may continue in the next records."""

    def __init__(self, record: Record | None = None) -> None:
        self.record = record
        self.texts: list[str] = []

    def bodies(self) -> Iterator[tuple[int, int, Body]]:
        if self.record is None:
            return
        events = self.record.events
        for block, event in enumerate(events):
            more = self.texts if block == len(events) - 1 else []
            if not event.is_repeated:
                yield self.record.offset, block, _body(event, more)


def _body(event: NativeEvent, more: list[str]) -> Body:
    return Body("".join((event_text(event), *more)), event.arguments)


class Bodies:
    """The bodies of single events of a session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records = RawRecords(store)
        # A cache of the records that were read last. The newest entry is the last one.
        self._kept: dict[tuple[str, int, int], list[Body]] = {}
        self._readers: dict[str, _SourceReader] = {}

    def of(self, event: SessionEvent) -> Body:
        """The body of an event; empty once the stored logs were evicted."""
        return self.at(*place_of(event))

    def at(self, source: str, offset: int, length: int, block: int) -> Body:
        where = (source, offset, length)
        bodies = self._kept.pop(where, None)
        if bodies is None:
            bodies = self._read(RecordPlace(source, offset, length, 0))
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[where] = bodies
        return bodies[block] if block < len(bodies) else NOTHING

    def events_at(self, place: RecordPlace) -> list[NativeEvent]:
        """The events of the record at a place, as its adapter reads this record alone."""
        return next((record.events for record in self._read_at(place) if record.events), [])

    def _read_at(self, place: RecordPlace) -> list[Record]:
        row = self._records.source(place.source)
        return [] if row is None else self._translated(row, self._records.at(place))

    def _read(self, place: RecordPlace) -> list[Body]:
        row = self._records.source(place.source)
        if row is None:
            return []
        data = self._records.at(place)
        if (texts := self._reader_of(row).texts) is not None and b"\n" not in data:
            found = texts(data)
            if found is not None:
                return [Body(text, arguments) for text, arguments in found]
        records = self._translated(row, data)
        events = next((record.events for record in records if record.events), [])
        more = [record.text for record in records if record.continues]
        last = len(events) - 1
        return [_body(one, more if at == last else []) for at, one in enumerate(events)]

    def _reader_of(self, row: SourceRow) -> "_SourceReader":
        if (known := self._readers.get(row.uid)) is None:
            known = self._readers[row.uid] = _SourceReader(row)
        return known

    def _translated(self, row: SourceRow, data: bytes) -> list[Record]:
        """The records in ``data``. If the adapter fails, a neutral substitute reads them."""
        known = self._reader_of(row)
        source = _RecordBytes(known.ref, data)
        problem = known.agent.problem
        try:
            with adapter_failures(row.flavor, known.path):
                records = [record for _, record in known.read(source, Cursor(), source.size)]
        except AdapterFailed as failure:
            # Even if an adapter fails, the text of its sessions can still be shown.
            records = [record for _, record in neutral.read(source, Cursor())]
            problem = str(failure)
        if problem:
            note_substitute(self._store, row.flavor, problem)
        return records


class _SourceReader:
    """The functions of an adapter that read the records of one source."""

    def __init__(self, row: SourceRow) -> None:
        ref = RawSource.ref_of(row)
        # In the log of a subagent, perhaps only some lines name the session. Without a name, the
        # adapter waits for such a line before it returns a record. Here it gets a single record and
        # must not wait, so the session gets a name.
        if not ref.session and ref.agent:
            ref = msgspec.structs.replace(ref, session=" ")
        self.ref, self.agent = ref, reader_of(row)
        self.path = str(ref.path)
        self.read = reading_of(self.agent, ref)
        self.texts = texts_of(self.agent, ref)


class _RecordBytes:
    """The bytes of one record as a source that an adapter can read."""

    def __init__(self, ref: SourceRef, data: bytes) -> None:
        self.ref = ref
        self._data = data if data.endswith(b"\n") else data + b"\n"
        self.size = len(self._data)

    def open(self, offset: int) -> BinaryIO:
        return io.BytesIO(self._data[offset:])
