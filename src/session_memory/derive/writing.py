"""One session being written: its records settled, stored, and what they used counted."""

from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import blake2b
from operator import add, sub

import msgspec

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.roles import TIMELINE
from session_memory.derive import inclusive
from session_memory.derive.bodies import Bodies
from session_memory.derive.identity import key_in, stem_of
from session_memory.derive.settle import (
    SettleState,
    Settling,
    abandoned_by_head,
    abandoned_by_prompts,
)
from session_memory.derive.stored_events import StoredEvents
from session_memory.derive.stored_keys import StoredKeys
from session_memory.store.database import Row
from session_memory.store.event_rows import CopyRow, EventRow
from session_memory.store.sessions import SessionRow
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, NewUsage

NEVER = 1 << 62

encode_state = msgspec.msgpack.Encoder().encode
decode_state = msgspec.msgpack.Decoder(SettleState).decode


class Entangled(Exception):
    """Sessions that hold the same record; carries their ids. Never leaves the ingest.

    An id of 0 among them says only that the case is not plain.
    """

    def __init__(self, sessions: set[int]) -> None:
        super().__init__()
        self.sessions = sessions


class SessionWriting:
    """Settles and stores records of one session."""

    def __init__(self, store: Store, row: SessionRow, source: SourceRow) -> None:
        self._store = store
        self._row = row
        self._source = source
        self._stem = stem_of(source)
        self._flavor = source.flavor
        self._stored_events = StoredEvents(store, row)
        self.settling = Settling(
            decode_state(row.state),
            self._stored_events,
            agent_or_substitute(source.flavor),
            is_subagent=row.relation == "subagent",
        )
        self.settling.read_timeline(source.role == TIMELINE)
        self.links: list[tuple[str, str]] = []
        self._stored: set[bytes] = set()
        self.foreign: set[bytes] = set()
        self.goes_on = False
        self._counted_elsewhere: set[str] = set()
        self.counts_for: int | None = None
        self._begin()
        self._usage_rows: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.named_records = 0
        self.has_turns = False
        self.held_from: int | None = None
        self.held_to: int | None = None

    def _begin(self) -> None:
        self._copies: list[CopyRow] = []
        self._usage: dict[str, tuple[NativeUsage, int | None, int]] = {}
        self._new_usage: list[NewUsage] = []
        self._shared_usage: list[NewUsage] = []
        self._better_usage: list[tuple[int, NewUsage]] = []
        self._moved_usage: list[tuple[int, int]] = []
        self._turns: list[tuple[int, NativeUsage]] = []

    def read_from(self, source: SourceRow) -> None:
        """Go on with another source of the same session."""
        self._source, self._stem = source, stem_of(source)
        self.settling.read_timeline(source.role == TIMELINE)

    def identify(self, records: Iterable[Record]) -> None:
        """Name each record for ever: its native id, else its file, place and content."""
        for record in records:
            record.key = key_in(self._stem, record)

    # ------------------------------------------------------------ is it the plain case?

    def check(self, records: list[Record], stored_keys: StoredKeys | None = None) -> None:
        """Raise ``Entangled`` unless every record is new to all other sessions."""
        self.identify(records)
        named = [record.key for record in records if record.native_id and record.events]
        if named and self._row.has_shared and not self._row.own_records:
            raise Entangled(set())
        sources = self._store.sessions.source_ids(self._row.id) if self._row.id else []
        has_others = bool(sources) and sources != [self._source.id]
        if has_others:
            named += [r.key for r in records if r.events and not r.native_id]
        responses = {used.usage_id for record in records for used in usage_in(record)}
        if stored_keys is not None and stored_keys.add_if_new(named, responses) and not has_others:
            return
        others = self._other_holders(named) | self._other_counters(records, responses)
        if others:
            # Only where a later record of the new session is its own can the other be whole.
            self.goes_on = len(set(named)) > len(self.foreign)
            raise Entangled(others)

    def is_own(self, record: bytes) -> bool:
        return record not in self.foreign

    def _other_holders(self, records: list[bytes]) -> set[int]:
        others = set()
        for key, session_id in self._store.events.holders(records):
            if session_id == self._row.id:
                self._stored.add(key)
            else:
                self.foreign.add(key)
                others.add(session_id)
        return others

    def _other_counters(self, records: list[Record], responses: set[str]) -> set[int]:
        others, outputs = set(), {}
        for row_id, usage_id, session_id, *buckets in self._usage_of(responses):
            if session_id == self._row.id:
                self._usage_rows[usage_id] = (row_id, tuple(buckets))
            else:
                outputs[usage_id] = buckets[1]
                others.add(session_id)
        for record in records if outputs else ():
            for used in usage_in(record):
                if used.output_tokens > outputs.get(used.usage_id, NEVER):
                    # Our copy of the response is the fuller one: whose it is takes a second look.
                    others.add(0)
        self._counted_elsewhere = set(outputs)
        return others

    def _usage_of(self, usage_ids: Iterable[str]) -> Iterator[Row]:
        keys = {key_of(self._flavor, usage_id): usage_id for usage_id in usage_ids}
        for row_id, key, usage_id, *rest in self._store.usage.stored(list(keys)):
            if keys[key] == usage_id:
                yield row_id, usage_id, *rest

    # ------------------------------------------------------------ writing

    def settle(self, records: list[Record], owned: Callable[[bytes], bool] | None = None) -> None:
        """Settle records; what is not ``owned`` becomes a copy of the owner's event."""
        settling, stored, source_id = self.settling, self._stored, self._source.id
        usage, native = self._usage, self._row.native_id
        self._stored_events.expect_outcomes(records)
        for record in records:
            named = record.native_id and record.events
            mine = record.session == native and (not owned or not named or owned(record.key))
            if record.link is not None and mine:
                self.links.append((record.link.child, record.link.call_id))
            if record.events and record.key in stored:
                # Its usage is stored as well, at the place where it stood first.
                self._copies.extend(_repeated(record, source_id))
                continue
            rows = settling.settle(record, source_id, mine)
            if not mine:
                self._copies.extend(_inherited(rows))
            if rows:
                stored.add(record.key)
                if record.native_id:
                    self.named_records += 1
                if owned is not None and record.ts is not None:
                    self.held_from = min(self.held_from or record.ts, record.ts)
                    self.held_to = max(self.held_to or record.ts, record.ts)
            for used in usage_in(record):
                known, seq = usage.get(used.usage_id), settling.usage_seq
                if known is None or used.output_tokens >= known[0].output_tokens:
                    usage[used.usage_id] = (used, record.ts, seq)
                else:
                    usage[used.usage_id] = (known[0], known[1], seq)

    def find_own_usage(self, evicted: Collection[int] = ()) -> None:
        """Which of the responses at hand this session has stored before, and which of them count
        for sessions that are ``evicted``."""
        for row_id, usage_id, session_id, *buckets in self._usage_of(self._usage):
            if session_id == self._row.id:
                self._usage_rows[usage_id] = (row_id, tuple(buckets))
            elif session_id in evicted:
                self._counted_elsewhere.add(usage_id)
                self.counts_for = session_id

    def _usage_row(self, native: NativeUsage, ts: int | None, seq: int) -> NewUsage:
        return NewUsage(
            key_of(self._flavor, native.usage_id),
            native.usage_id,
            seq,
            ts,
            native.model,
            native.speed,
            native.service_tier,
            native.input_tokens,
            native.output_tokens,
            native.cache_read_tokens,
            native.cache_write_tokens,
            native.cache_write_1h_tokens,
            native.reasoning_tokens,
            native.web_searches,
        )

    def flush(self) -> None:
        """Store what was settled since the last time."""
        store, row, settled = self._store, self._row, self.settling.settled
        store.events.add(row.id, list(settled.rows.values()))
        store.events.amend(row.id, settled.amended)
        self._reword(settled.extended)
        if self._copies:
            store.events.add_copies(row.id, self._copies)
        store.usage.add(row.id, self._new_usage, row.id)
        store.usage.add(row.id, self._shared_usage, None)
        for row_id, better in self._better_usage:
            store.usage.replace(row_id, better)
        for row_id, seq in self._moved_usage:
            store.usage.move(row_id, seq)
        self.has_turns |= inclusive.note(store, row, self._turns)
        store.events.undo(row.id, settled.undone)
        if settled.branches_changed:
            self.mark_branches()
        settled.clear()
        self._begin()

    def _reword(self, seqs: set[int]) -> None:
        """Messages that went on since they were indexed: what they say now."""
        bodies = Bodies(self._store) if seqs else None
        for seq in seqs:
            event = self._store.events.at(self._row.id, self._row.uid, seq)
            if event is not None and bodies is not None:
                self._store.events.reword(self._row.id, seq, bodies.of(event).text)

    def count_usage(self) -> None:
        """Add what the responses at hand used to the session's row.

        A response logged again counts once: its largest output, at its last block.
        """
        gained = (0,) * len(BUCKETS)
        for usage_id, (native, ts, seq) in self._usage.items():
            if native.includes_subagents:
                self._turns.append((key_of(self._flavor, usage_id), native))
            if usage_id in self._counted_elsewhere:
                self._shared_usage.append(self._usage_row(native, ts, seq))
                continue
            stored = self._usage_rows.get(usage_id)
            if stored is not None and native.output_tokens < stored[1][1]:
                self._moved_usage.append((stored[0], seq))
                continue
            row = self._usage_row(native, ts, seq)
            gained = tuple(map(add, gained, row.buckets))
            if stored is None:
                self._new_usage.append(row)
            else:
                self._better_usage.append((stored[0], row))
                gained = tuple(map(sub, gained, stored[1]))
        self._usage = {}
        for name, more in zip(BUCKETS, gained, strict=True):
            setattr(self._row, name, getattr(self._row, name) + more)

    def mark_branches(self) -> None:
        """Find the abandoned branches of the whole session again; store what changed."""
        state = self.settling.state
        if state.head_is_logged:
            chain = self._store.events.tree(self._row.id)
            found = abandoned_by_head([link[:4] for link in chain], state.head)
        else:
            chain = self._store.events.chain(self._row.id)
            found = abandoned_by_prompts([link[:4] for link in chain])
        changed = {
            seq: found.get(seq) for seq, _, _, _, stored in chain if stored != found.get(seq)
        }
        self._store.events.set_branches(self._row.id, changed)


def _inherited(rows: list[EventRow]) -> list[CopyRow]:
    """Rows of a record that another session owns, as copies with a seq in this session."""
    return [
        CopyRow(
            seq=row.seq,
            record=row.record,
            block=row.block,
            source_id=row.source_id,
            place=row.place,
            length=row.length,
        )
        for row in rows
    ]


def _repeated(record: Record, source_id: int) -> list[CopyRow]:
    """Where a record stands again that this session has stored already."""
    return [
        CopyRow(
            seq=None,
            record=record.key,
            block=block,
            source_id=source_id,
            place=record.offset,
            length=record.length,
        )
        for block in range(len(record.events))
    ]


def usage_in(record: Record) -> tuple[NativeUsage, ...]:
    """Every usage a record tells of; nearly always none or one."""
    if record.usage is None:
        return ()
    return (record.usage, *record.more_usage) if record.more_usage else (record.usage,)


def key_of(flavor: str, identity: str) -> int:
    """A short number for a long identity, the same everywhere; equal keys are compared in full."""
    digest = blake2b(f"{flavor}\0{identity}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
