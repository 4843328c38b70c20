"""The records of some sessions that share history, read from the stored logs.

A session may begin with another's history by reference: its log names the other session and an
ordinal, and does not repeat the records. This module returns these records as if the log had them.
"""

from collections.abc import Iterator
from copy import copy

from session_memory.adapters.base import Record
from session_memory.core.roles import LOGS
from session_memory.derive.facts import base_of
from session_memory.derive.raw_source import stored_records
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

HELD_IN_MEMORY = 16 * 1024 * 1024
NO_END = 1 << 62

PlacedRecord = tuple[SourceRow, Record]


class ClusterRecords:
    """Reads the records of the sessions in ``rows``. The ``index`` of a session is its position in
    ``rows``.

    ``have_bases``: some sessions begin with another's history by reference.
    """

    def __init__(self, store: Store, rows: list[CollectedSession]) -> None:
        self._store = store
        self._rows = rows
        self._sources = self._logs()
        self._index = {row.uid: index for index, row in enumerate(rows)}
        self.have_bases = any(base_of(row) is not None for row in rows)
        self._in_memory: dict[int, list[PlacedRecord]] = {}

    def _logs(self) -> list[list[SourceRow]]:
        read_by = self._store.sources.read_by_each([row.id for row in self._rows])
        return [[one for one in read_by[row.id] if one.role in LOGS] for row in self._rows]

    def are_current(self) -> bool:
        """Whether the logs of the sessions are unchanged since this object was created."""
        return self._logs() == self._sources

    def _each_log(self) -> dict[int, SourceRow]:
        return {source.id: source for sources in self._sources for source in sources}

    @property
    def size(self) -> int:
        """The number of bytes of all logs of the sessions."""
        return sum(source.kept for source in self._each_log().values())

    def load_small(self) -> None:
        """Hold all records in memory when their logs are small enough together.

        A log that many sessions share is read once for all of them.
        """
        logs = self._each_log()
        if self.size > HELD_IN_MEMORY:
            return
        wanted = {row.native_id for row in self._rows}
        held: dict[tuple[int, str], list[Record]] = {}
        for source in logs.values():
            for record in stored_records(self._store, source):
                if record.problem is None and record.session in wanted:
                    held.setdefault((source.id, record.session), []).append(record)
        for index, row in enumerate(self._rows):
            self._in_memory[index] = [
                (source, record)
                for source in self._sources[index]
                for record in held.get((source.id, row.native_id), ())
            ]

    @property
    def are_in_memory(self) -> bool:
        return len(self._in_memory) == len(self._rows)

    def of(self, index: int) -> Iterator[PlacedRecord]:
        """The records that a session begins with by reference, then its own records.

        Settling changes records, so each session gets copies of those that several sessions hold.
        """
        for origin, end in self._origins(index):
            for source, record in self._not_taken_back(origin):
                if record.ordinal is not None and record.ordinal < end and record.native_id:
                    yield source, _copied(record)
        if self.have_bases:
            yield from ((source, _copied(record)) for source, record in self._own(index))
        else:
            yield from self._own(index)

    def _origins(self, index: int) -> list[tuple[int, int]]:
        """``(position, end ordinal)`` of the sessions whose history a session begins with, earliest
        first."""
        found: list[tuple[int, int]] = []
        seen, row, end = {index}, self._rows[index], NO_END
        while (base := base_of(row)) is not None:
            origin = self._index.get(base[0])
            if origin is None or origin in seen:
                break
            seen.add(origin)
            end = min(end, base[1])
            found.append((origin, end))
            end = min((end, *(_taken_back_to(record) for _, record in self._reverts(origin))))
            row = self._rows[origin]
        return found[::-1]

    def _own(self, index: int) -> Iterator[PlacedRecord]:
        held = self._in_memory.get(index)
        if held is not None:
            return iter(held)
        native = self._rows[index].native_id
        return (
            (source, record)
            for source in self._sources[index]
            for record in stored_records(self._store, source)
            if record.session == native and record.problem is None
        )

    def _reverts(self, index: int) -> Iterator[PlacedRecord]:
        """Records of a second file of the session that take back the end of the first file."""
        if len(self._sources[index]) < 2:
            return iter(())
        return (held for held in self._own(index) if _taken_back_to(held[1]) != NO_END)

    def _not_taken_back(self, index: int) -> Iterator[PlacedRecord]:
        """A session's own records, without those that it took back."""
        if len(self._sources[index]) < 2:
            return self._own(index)
        kept: list[PlacedRecord] = []
        for source, record in self._own(index):
            end = _taken_back_to(record)
            if end != NO_END:
                kept = [held for held in kept if (held[1].ordinal or 0) < end]
            kept.append((source, record))
        return iter(kept)


def _taken_back_to(record: Record) -> int:
    """The ordinal of the first earlier record that a record takes back from its own session;
    `NO_END` if it takes back none."""
    base = record.base
    return base.ordinal if base is not None and base.session == record.session else NO_END


def _copied(record: Record) -> Record:
    twin = copy(record)
    twin.events = [copy(event) for event in record.events]
    return twin
