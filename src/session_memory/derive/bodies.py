"""What was said, thought, called and printed: the whole text of events, out of the raw.

Events keep a line of it. The adapter of today reads the record again, so a body is as good as the
newest adapter, and nothing is stored twice.
"""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from session_memory.adapters.base import Cursor, NativeEvent, Record
from session_memory.adapters.registry import agent
from session_memory.adapters.words import words_of
from session_memory.core.roles import LOGS
from session_memory.core.schema import SessionEvent
from session_memory.derive.identity import key_in, stem_of
from session_memory.derive.raw_source import RawSource, stored_records
from session_memory.derive.tables import is_table
from session_memory.store.live_rows import LiveRows
from session_memory.store.record_keys import event_uid
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


class Body(msgspec.Struct, frozen=True):
    """``text`` is all there is to read; ``arguments`` is what a call was given, as it was."""

    text: str = ""
    arguments: Any = None


NOTHING = Body()


def bodies(store: Store, uid: str) -> Iterator[tuple[str, Body]]:
    """``(event_uid, body)`` of every event in the session's own sources, in their order.

    What a source repeats of another session or of itself comes again.
    """
    row = store.sessions.row(uid)
    if row is None:
        return
    for source in store.sources.read_by(row.id):
        if source.role in LOGS:
            for key, block, body in bodies_in(store, source, row.native_id):
                yield event_uid(key, block), body


def bodies_in(store: Store, source: SourceRow, native: str) -> Iterator[tuple[bytes, int, Body]]:
    """``(record, block, body)`` of a session's events in one source. A message in chunks is one."""
    stem, waiting = stem_of(source), _Waiting()
    for record in stored_records(store, source):
        if record.session != native or record.problem is not None:
            continue
        if record.continues:
            waiting.texts.append(record.text)
        elif record.events:
            yield from waiting.told()
            waiting = _Waiting(record, key_in(stem, record))
    yield from waiting.told()


class _Waiting:
    """A record whose last event may go on in the next ones."""

    def __init__(self, record: Record | None = None, key: bytes = b"") -> None:
        self.record, self.key = record, key
        self.texts: list[str] = []

    def told(self) -> Iterator[tuple[bytes, int, Body]]:
        events = self.record.events if self.record is not None else []
        for block, event in enumerate(events):
            more = self.texts if block == len(events) - 1 else []
            yield self.key, block, _body(event, more)


def _body(event: NativeEvent, more: list[str]) -> Body:
    return Body("".join((words_of(event), *more)), event.arguments)


class Bodies:
    """Single events of a session; neighbours usually lie in the pack that was read last."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[str, SourceRow | None] = {}
        self._window: tuple[str, int, bytes] = ("", 0, b"")
        self._record: tuple[str, int, int] = ("", 0, 0)
        self._bodies: list[Body] = []

    def of(self, event: SessionEvent) -> Body:
        """Empty once the raw was evicted."""
        source, place, length, block = _parsed(event.payload_ref or "")
        return self.at(source, place, length, block)

    def at(self, source: str, place: int, length: int, block: int) -> Body:
        where = (source, place, length)
        if where != self._record:
            self._record, self._bodies = where, self._read(source, place, length)
        return self._bodies[block] if block < len(self._bodies) else NOTHING

    def _read(self, uid: str, place: int, length: int) -> list[Body]:
        if uid not in self._sources:
            self._sources[uid] = self._store.sources.by_uid(uid)
        row = self._sources[uid]
        if row is None:
            return []
        data = self._bytes(row, place, length)
        found = [told for _, told in agent(row.flavor).read(_Piece(row, data), Cursor())]
        events = next((record.events for record in found if record.events), [])
        more = [record.text for record in found if record.continues]
        last = len(events) - 1
        return [_body(one, more if at == last else []) for at, one in enumerate(events)]

    def _bytes(self, row: SourceRow, place: int, length: int) -> bytes:
        if is_table(row) and not row.kept:
            return LiveRows(self._store.db).line_at(row.session, place)
        known, start, data = self._window
        if known != row.uid or not start <= place <= place + length <= start + len(data):
            start, data = place, self._store.raw.from_place(row.id, place)
            if len(data) < length:
                return self._store.raw.record(row.id, place, length)
            self._window = (row.uid, start, data)
        return data[place - start : place - start + length]


class _Piece:
    """One record, for an adapter to read."""

    def __init__(self, row: SourceRow, data: bytes) -> None:
        self.ref = RawSource.ref_of(row)
        # A session in one file is named by its lines; what stands alone must not wait for more.
        if not self.ref.session and self.ref.agent:
            self.ref = msgspec.structs.replace(self.ref, session=" ")
        self._data = data if data.endswith(b"\n") else data + b"\n"

    def open(self, offset: int) -> BinaryIO:
        return io.BytesIO(self._data[offset:])


def _parsed(ref: str) -> tuple[str, int, int, int]:
    """``<source uid>@<offset>+<length>#<block>``."""
    source, _, rest = ref.partition("@")
    place, _, rest = rest.partition("+")
    length, _, block = rest.partition("#")
    return source, int(place or 0), int(length or 0), int(block or 0)
