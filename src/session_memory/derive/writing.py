"""Write one session: settle and store its records, and count their usage."""

from collections.abc import Callable

import msgspec

from session_memory.adapters.base import Record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.roles import TIMELINE
from session_memory.derive.append_checks import NeedsDerivation
from session_memory.derive.bodies import Bodies
from session_memory.derive.content_checks import repeats_stored
from session_memory.derive.contents import have_same_contents
from session_memory.derive.found_usage import usage_in
from session_memory.derive.identity import key_in, stem_of
from session_memory.derive.record_settling import RecordSettling
from session_memory.derive.same_ids import SameIds
from session_memory.derive.settle import (
    SettleState,
    Settling,
    abandoned_by_head,
    abandoned_by_prompts,
)
from session_memory.derive.settled_ahead import SettledSession
from session_memory.derive.stored_events import NoEvents, StoredEvents
from session_memory.derive.stored_keys import StoredKeys
from session_memory.derive.usage_writing import UsageWriting
from session_memory.store.record_keys import is_variant
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

encode_state = msgspec.msgpack.Encoder().encode
decode_state = msgspec.msgpack.Decoder(SettleState).decode


class SessionWriting(RecordSettling):
    """Settles and stores records of one session.

    - ``shared_records``: keys of records that another session owns
    - ``has_own_records``: some records are in no other session

    With ``at_once``, all records of the session are settled before the first of them is stored.
    """

    def __init__(
        self, store: Store, row: CollectedSession, source: SourceRow, *, at_once: bool = False
    ) -> None:
        self.shared_records: set[bytes] = set()
        self.has_own_records = False
        self.usage = UsageWriting(store, row, row.flavor)
        self._store = store
        self._row = row
        state = decode_state(row.state)
        self._stored_events: StoredEvents | NoEvents = (
            NoEvents() if at_once else StoredEvents(store, row, has_variants=state.has_variants)
        )
        settling = Settling(
            state,
            self._stored_events,
            agent_or_substitute(row.flavor),
            is_subagent=row.relation == "subagent",
        )
        super().__init__(settling, row.native_id, self.usage)
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
        """Raise `NeedsDerivation` if the records cannot simply be appended.

        Another session may hold some of them, or records with the same id have other content.
        """
        self.identify(records)
        keys = [record.key for record in records if record.native_id and record.events]
        if len(set(keys)) < len(keys) and not have_same_contents(records):
            raise NeedsDerivation(set())
        if keys and self._row.has_shared and not self._row.own_records:
            # All records that the session has so far are shared. If the new records are the first
            # of its own, another session may become the owner of the shared ones.
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
        if not repeats_stored(self._store, self._row.id, records, self.stored_records):
            raise NeedsDerivation(others)
        if others:
            self.has_own_records = len(set(keys)) > len(self.shared_records)
            # The session with the larger output has the complete response, and may own it.
            raise NeedsDerivation(others, may_be_fork=len(others) == 1 and not is_larger)

    def check_keys(
        self, keys: list[bytes], usage_ids: set[str], stored_keys: StoredKeys | None
    ) -> None:
        """Raise `NeedsDerivation` if the store has any of these records or responses."""
        if stored_keys is not None and stored_keys.add_if_new(keys, usage_ids):
            return
        if self._other_holders(keys) or self.usage.are_any_stored(usage_ids):
            raise NeedsDerivation(set())

    def is_own(self, record: bytes) -> bool:
        return record not in self.shared_records

    def _other_holders(self, records: list[bytes]) -> set[int]:
        others = set()
        for key, session_id in self._store.events.holders(records):
            if session_id == self._row.id:
                self.stored_records.add(key)
            else:
                self.shared_records.add(key)
                others.add(session_id)
        return others

    # ------------------------------------------------------------ settling and storing

    def settle(self, records: list[Record], owned: Callable[[bytes], bool] | None = None) -> None:
        """Settle records. A record that is not ``owned`` becomes a copy of its owner's events."""
        self._stored_events.expect_outcomes(records)
        self.settle_records(records, self._source.id, owned)

    def adopt(self, settled: SettledSession) -> None:
        """Take the result of a worker instead of records. The row already has the state after these
        records."""
        source_id, mine = self._source.id, self.settling.settled
        mine.rows = settled.event_rows(source_id)
        mine.undone, mine.branches_changed = settled.undone, settled.branches_changed
        mine.needs_derivation = settled.needs_derivation
        message = self.settling.state.message
        if message is not None:
            message.source_id = source_id
        self.links, self.copies = settled.links, settled.copy_rows(source_id)
        self.named_records = settled.named_records
        self.usage.adopt(settled.found_usage())

    def flush(self) -> None:
        """Store what was settled and counted since the last flush."""
        store, row, settled = self._store, self._row, self.settling.settled
        store.events.add(row.id, list(settled.rows.values()))
        # The number of a text in the search index contains its class.
        store.events.unindex(row.id, settled.reclassed)
        store.events.amend(row.id, settled.amended)
        self._index_again(settled.extended, store.events.reword)
        self._index_again(settled.reclassed, store.events.index)
        if self.copies:
            store.events.add_copies(row.id, self.copies)
        self.usage.flush()
        store.events.undo(row.id, settled.undone)
        if settled.branches_changed:
            self.mark_branches()
        settled.clear()
        self.copies = []

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
