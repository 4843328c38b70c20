"""Writing one session: its records are settled and stored, and their usage is counted."""

from collections.abc import Callable

import msgspec

from session_memory.adapters.base import Record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.roles import TIMELINE
from session_memory.derive.append_checks import NeedsDerivation
from session_memory.derive.bodies import Bodies
from session_memory.derive.content_checks import have_same_contents, repeats_stored
from session_memory.derive.identity import key_in, stem_of
from session_memory.derive.same_ids import SameIds
from session_memory.derive.same_responses import usage_in
from session_memory.derive.settle import (
    SettleState,
    Settling,
    abandoned_by_head,
    abandoned_by_prompts,
)
from session_memory.derive.stored_events import NoEvents, StoredEvents
from session_memory.derive.stored_keys import StoredKeys
from session_memory.derive.usage_writing import UsageWriting
from session_memory.store.event_rows import CopyRow, EventRow
from session_memory.store.record_keys import is_variant
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

encode_state = msgspec.msgpack.Encoder().encode
decode_state = msgspec.msgpack.Decoder(SettleState).decode


class SessionWriting:
    """Settles and stores records of one session.

    - ``links``: ``(child, call_id)`` of the subagents that the records name
    - ``shared_records``: keys of records that another session owns
    - ``has_own_records``: some records are in no other session
    - ``named_records``: how many records with a native id gave events
    - ``first_ts``, ``last_ts``: the times of all records, inherited ones included

    With ``at_once``, all records of the session are settled before the first of them is stored.
    """

    def __init__(
        self, store: Store, row: CollectedSession, source: SourceRow, *, at_once: bool = False
    ) -> None:
        self.links: list[tuple[str, str]] = []
        self.shared_records: set[bytes] = set()
        self.has_own_records = False
        self.named_records = 0
        self.first_ts: int | None = None
        self.last_ts: int | None = None
        self.usage = UsageWriting(store, row, row.flavor)
        self._store = store
        self._row = row
        state = decode_state(row.state)
        self._stored_events: StoredEvents | NoEvents = (
            NoEvents() if at_once else StoredEvents(store, row, has_variants=state.has_variants)
        )
        self._stored_records: set[bytes] = set()
        self._copies: list[CopyRow] = []
        self.settling = Settling(
            state,
            self._stored_events,
            agent_or_substitute(row.flavor),
            is_subagent=row.relation == "subagent",
        )
        self.read_from(source)

    def read_from(self, source: SourceRow) -> None:
        """Say which source the next records come from."""
        self._source, self._stem = source, stem_of(source)
        self.settling.read_timeline(source.role == TIMELINE)

    def identify(self, records: list[Record], same_ids: SameIds | None = None) -> None:
        """Give each record its key. ``same_ids`` knows the ids that have several contents."""
        for record in records:
            record.key = key_in(self._stem, record)
        if same_ids is None or not same_ids.contents:
            return
        for record in records:
            if record.native_id and record.events:
                record.key = same_ids.key_of(record.key, record)
                self.settling.state.has_variants |= is_variant(record.key)

    # ------------------------------------------------------------ can the records be appended?

    def check_new(self, records: list[Record], stored_keys: StoredKeys | None = None) -> None:
        """Raise `NeedsDerivation` unless no other session holds any of the records."""
        self.identify(records)
        keys = [record.key for record in records if record.native_id and record.events]
        if len(set(keys)) < len(keys) and not have_same_contents(records):
            raise NeedsDerivation(set())
        if keys and self._row.has_shared and not self._row.own_records:
            # All its records so far are shared. A first record of its own may change who owns them.
            raise NeedsDerivation(set())
        sources = self._store.sessions.source_ids(self._row.id) if self._row.id else []
        has_others = bool(sources) and sources != [self._source.id]
        if has_others:
            keys += [r.key for r in records if r.events and not r.native_id]
        used = [used for record in records for used in usage_in(record)]
        usage_ids = {one.usage_id for one in used}
        if stored_keys is not None and stored_keys.add_if_new(keys, usage_ids) and not has_others:
            return
        responses = {(one.usage_id, one.is_reported) for one in used}
        holders = self._other_holders(keys)
        counters, is_larger = self.usage.other_counters(records, responses, holders)
        others = holders | counters
        if not repeats_stored(self._store, self._row.id, records, self._stored_records):
            raise NeedsDerivation(others)
        if others:
            self.has_own_records = len(set(keys)) > len(self.shared_records)
            # The session with the larger output has the complete response, and may own it.
            raise NeedsDerivation(others, may_be_fork=len(others) == 1 and not is_larger)

    def is_own(self, record: bytes) -> bool:
        return record not in self.shared_records

    def _other_holders(self, records: list[bytes]) -> set[int]:
        others = set()
        for key, session_id in self._store.events.holders(records):
            if session_id == self._row.id:
                self._stored_records.add(key)
            else:
                self.shared_records.add(key)
                others.add(session_id)
        return others

    # ------------------------------------------------------------ settling and storing

    def settle(self, records: list[Record], owned: Callable[[bytes], bool] | None = None) -> None:
        """Settle records. One that is not ``owned`` becomes a copy of its owner's events."""
        settling, stored, source_id = self.settling, self._stored_records, self._source.id
        native = self._row.native_id
        self._stored_events.expect_outcomes(records)
        for record in records:
            named = record.native_id and record.events
            mine = record.session == native and (not owned or not named or owned(record.key))
            if record.link is not None and mine:
                children = (record.link, *record.more_links)
                self.links += [(link.child, link.call_id) for link in children]
            if record.events and record.key in stored:
                # Its usage is stored as well, with the first copy of the record.
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
                    self.first_ts = min(self.first_ts or record.ts, record.ts)
                    self.last_ts = max(self.last_ts or record.ts, record.ts)
            if record.usage is not None:
                self.usage.add(record, settling.usage_seq)

    def flush(self) -> None:
        """Store what was settled and counted since the last flush."""
        store, row, settled = self._store, self._row, self.settling.settled
        store.events.add(row.id, list(settled.rows.values()))
        # The number of a text in the search index contains its class.
        store.events.unindex(row.id, settled.reclassed)
        store.events.amend(row.id, settled.amended)
        self._index_again(settled.extended, store.events.reword)
        self._index_again(settled.reclassed, store.events.index)
        if self._copies:
            store.events.add_copies(row.id, self._copies)
        self.usage.flush()
        store.events.undo(row.id, settled.undone)
        if settled.branches_changed:
            self.mark_branches()
        settled.clear()
        self._copies = []

    def _index_again(self, seqs: set[int], index: Callable[[int, int, str], None]) -> None:
        """Index stored events that got more text, or another class of texts."""
        bodies = Bodies(self._store) if seqs else None
        for seq in seqs:
            event = self._store.events.at(self._row.id, self._row.uid, seq)
            if event is not None and bodies is not None:
                index(self._row.id, seq, bodies.of(event).text)

    def mark_branches(self) -> None:
        """Find the abandoned branches of the whole session again, and store what changed."""
        state, events = self.settling.state, self._store.events
        if state.head_is_logged:
            chain = events.tree(self._row.id)
            branches = abandoned_by_head([link[:4] for link in chain], state.head)
        else:
            chain = events.chain(self._row.id)
            branches = abandoned_by_prompts([link[:4] for link in chain])
        changed = {
            seq: branches.get(seq) for seq, _, _, _, stored in chain if stored != branches.get(seq)
        }
        events.set_branches(self._row.id, changed)


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
    """The place of a record that this session has stored already from another place."""
    return [
        CopyRow(
            seq=None,
            record=record.key,
            block=block,
            source_id=source_id,
            place=record.offset,
            length=record.length,
        )
        for block, event in enumerate(record.events)
        if not event.is_repeated
    ]
