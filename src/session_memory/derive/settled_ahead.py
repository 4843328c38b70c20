"""Settle the records of a new log in a worker process, which does not ask the store.

The result is right only if the session is new and no other session holds any of its records. The
process that writes checks this. If it is not so, that process drops the result, reads the records
from the stored log and adds them.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.roles import TIMELINE
from session_memory.derive.contents import have_same_contents
from session_memory.derive.facts import origin_record
from session_memory.derive.found_usage import FoundUsage, usage_in
from session_memory.derive.identity import key_in, stem_of
from session_memory.derive.line_counts import SourceLines, lines_of
from session_memory.derive.record_needs import Needs, needs_of
from session_memory.derive.record_settling import RecordSettling
from session_memory.derive.settle import SettleState, Settling
from session_memory.derive.stored_events import NoEvents
from session_memory.store.event_rows import CopyRow, EventRow
from session_memory.store.sources import SourceRow
from session_memory.store.word_query import PreparedText

UNKNOWN_SOURCE = 0
EntriesOf = Callable[[str], tuple[Any, ...]]
_encode_state = msgspec.msgpack.Encoder().encode


class SettledSession(msgspec.Struct, gc=False):
    """The result of settling the records of one new session. Rows and usage are plain tuples, which
    cross a pipe quickly. The id of the source is not known yet.

    - ``is_subagent``: whether it was settled as a subagent
    - ``origin``: the record that says where the session came from
    - ``keys``: the keys of the records with a native id and events
    """

    native: str
    is_subagent: bool
    origin: Record | None
    needs: Needs
    keys: list[bytes]
    usage_ids: set[str]
    named_records: int
    links: list[tuple[str, str]]
    copies: list[tuple[Any, ...]]
    state: bytes
    rows: list[tuple[Any, ...]]
    usage: list[tuple[tuple[Any, ...], int | None, int]]
    undone: list[tuple[int, int, str]]
    branches_changed: bool
    needs_derivation: bool

    def event_rows(self, source_id: int) -> dict[int, EventRow]:
        rows = {}
        for values in self.rows:
            row = EventRow(*values)
            row.source_id = source_id
            if row.prepared is not None:
                row.prepared = PreparedText(*row.prepared)
            rows[row.seq] = row
        return rows

    def copy_rows(self, source_id: int) -> list[CopyRow]:
        named = (dict(zip(CopyRow.__struct_fields__, one, strict=True)) for one in self.copies)
        return [CopyRow(**{**values, "source_id": source_id}) for values in named]

    def found_usage(self) -> FoundUsage:
        found = FoundUsage()
        for values, ts, seq in self.usage:
            used = NativeUsage(*values)
            found[used.usage_id, used.is_reported] = used, ts, seq
        return found


class SettledSource(SourceLines):
    """The result of settling a whole log: its sessions in order, and its number of records."""

    sessions: list[SettledSession]
    records: int


def settled_source(
    source: SourceRow, records: list[Record], entries_of: EntriesOf
) -> SettledSource | None:
    """The settled records of a whole new log. None if only the store can tell how to settle them;
    the records have only got their keys then. ``entries_of`` prepares texts for the store's word
    index."""
    by_session: dict[str, list[Record]] = {}
    stem = stem_of(source)
    for record in records:
        if record.problem is None:
            record.key = key_in(stem, record)
            by_session.setdefault(record.session, []).append(record)
    if not all(map(_can_settle, by_session.values())):
        return None
    lines = lines_of(records)
    sessions = [_settled(source, native, own, entries_of) for native, own in by_session.items()]
    return SettledSource(lines.starts_at, lines.counts, lines.problems, sessions, len(records))


def _can_settle(records: list[Record]) -> bool:
    if records[0].unfit_name is not None:
        return False
    keys = _keys(records)
    return len(set(keys)) == len(keys) or have_same_contents(records)


def _keys(records: list[Record]) -> list[bytes]:
    return [record.key for record in records if record.native_id and record.events]


def _settled(
    source: SourceRow, native: str, records: list[Record], entries_of: EntriesOf
) -> SettledSession:
    origin = origin_record(records)
    is_subagent = origin is not None and origin.relation in (None, "subagent")
    reader = agent_or_substitute(source.flavor)
    settling = Settling(SettleState(), NoEvents(), reader, is_subagent=is_subagent)
    is_timeline = source.role == TIMELINE
    settling.read_timeline(is_timeline)
    usage = FoundUsage()
    done = RecordSettling(settling, native, usage)
    done.settle_records(records, UNKNOWN_SOURCE)
    settled = settling.settled
    astuple = msgspec.structs.astuple
    return SettledSession(
        native=native,
        is_subagent=is_subagent,
        origin=None if origin is None else msgspec.structs.replace(origin, events=[]),
        needs=needs_of(records, is_timeline=is_timeline),
        keys=_keys(records),
        usage_ids={used.usage_id for record in records for used in usage_in(record)},
        named_records=done.named_records,
        links=done.links,
        copies=[astuple(one) for one in done.copies],
        state=_encode_state(settling.state_to_save()),
        rows=[astuple(_with_entries(row, entries_of)) for row in settled.rows.values()],
        usage=[(astuple(used), ts, seq) for used, ts, seq in usage.values()],
        undone=settled.undone,
        branches_changed=settled.branches_changed,
        needs_derivation=settled.needs_derivation,
    )


def _with_entries(row: EventRow, entries_of: EntriesOf) -> EventRow:
    """The row with the entries of its text for the word index instead of the text."""
    if row.words:
        row.prepared = PreparedText(entries_of(row.words), len(row.words))
        row.words = ""
    return row
