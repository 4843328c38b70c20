"""Deriving sessions anew from the raw, and deciding who owns copied history.

Sessions that share records are derived together, in one transaction, with all they hold in view:
what comes out depends on the raw alone, never on the order in which files were found.
"""

from collections import Counter
from collections.abc import Iterator
from copy import copy

import msgspec

from session_memory.adapters.base import Record
from session_memory.core.errors import AdapterFailed, AdapterUnusable
from session_memory.core.roles import LOGS
from session_memory.derive.facts import base_of, is_told, told_parent
from session_memory.derive.ingest import DomainOf, Ingest, name_parent
from session_memory.derive.raw_source import stored_records
from session_memory.derive.readers import note_substitute
from session_memory.derive.settle import SettleState
from session_memory.derive.writing import SessionWriting, key_of, usage_in
from session_memory.store.record_keys import record_key
from session_memory.store.sessions import SessionRow
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

BATCH = 2000
NEVER = 1 << 62
HELD_IN_MEMORY = 16 * 1024 * 1024


def derive_stale(store: Store, now: int, domain_of: DomainOf) -> int:
    """Derive every session that is marked stale, with those it shares with; returns how many.

    Sessions that no adapter can read keep their events and stay stale; `readers.substituted` names
    them.
    """
    derived, left = 0, set[int]()
    while stale := [session_id for session_id in store.sessions.stale() if session_id not in left]:
        with store.transaction():
            cluster = derive_closure(store, stale[0])
            derivation = Derivation(store, cluster, now, domain_of)
            try:
                while strangers := derivation.strangers():
                    store.sessions.set_sharing({(cluster[0], other) for other in strangers})
                    cluster = derive_closure(store, cluster[0])
                    derivation = Derivation(store, cluster, now, domain_of)
            except (AdapterUnusable, AdapterFailed) as failure:
                # Everything is read before anything is dropped, so nothing is lost here.
                note_substitute(store, failure.flavor, str(failure))
                left.update(cluster)
                continue
            derivation.run()
        derived += len(cluster)
    return derived


def derive_closure(store: Store, session_id: int) -> list[int]:
    """The session and all that share a record with it, directly or through others."""
    found, waiting = {session_id}, [session_id]
    while waiting:
        session = waiting.pop()
        for other in (*store.sessions.sharing_with(session), *_begun_with(store, session)):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return sorted(found)


def _begun_with(store: Store, session_id: int) -> Iterator[int]:
    """Sessions that begin with this one's history by reference, and the one it begins with."""
    row = store.sessions.row_by_id(session_id)
    base = base_of(row)
    origin = store.sessions.row(base[0]) if base is not None else None
    if origin is not None:
        yield origin.id
    for fork in store.sessions.forks_of(row.uid):
        if base_of(fork) is not None:
            yield fork.id


class Derivation:
    """One cluster of sessions. Sets of sessions are bit masks over their position in it."""

    def __init__(self, store: Store, cluster: list[int], now: int, domain_of: DomainOf) -> None:
        self._store = store
        rows = [store.sessions.row_by_id(session_id) for session_id in cluster]
        # What is evicted has no raw here: it stays as it is, and what counts for it counts on.
        self._rows = [row for row in rows if row.evicted_at is None]
        self._frozen = frozenset(row.id for row in rows if row.evicted_at is not None)
        self._sources = [
            [source for source in store.sources.read_by(row.id) if source.role in LOGS]
            for row in self._rows
        ]
        self._index = {row.uid: index for index, row in enumerate(self._rows)}
        self._has_bases = any(base_of(row) is not None for row in self._rows)
        self._ingest = Ingest(store, now, domain_of)
        self._held: dict[bytes, int] = {}
        self._first_seen: dict[bytes, int] = {}
        self._used: dict[str, int] = {}
        self._translated: dict[int, list[tuple[SourceRow, Record]]] = {}
        self._have_turns = False

    def strangers(self) -> set[int]:
        """Sessions outside the cluster that hold something of it.

        What a stale session took in meanwhile was compared with nobody's.
        """
        self._survey()
        keys = [key_of(self._rows[0].flavor, usage_id) for usage_id in self._used]
        holders = {session for _, session in self._store.events.holders(list(self._held))}
        counters = {row[3] for row in self._store.usage.stored(keys) if row[2] in self._used}
        return (holders | counters) - {row.id for row in self._rows} - self._frozen

    def run(self) -> None:
        owners = Owners(self._rows, self._held, self._first_seen)
        away = self._sharing_with_frozen()
        for row in self._rows:
            self._store.events.drop(row.id)
            self._store.sessions.drop_derived(row.id)
        inherits_from = [self._write(index, owners) for index in range(len(self._rows))]
        self._assign_usage(owners)
        if self._have_turns:
            self._ingest.balance(self._rows)
        self._name_parents(inherits_from)
        self._remember_sharing(away)

    def _records(self, index: int) -> Iterator[tuple[SourceRow, Record]]:
        """What the session begins with by reference, then its own. Settling changes records, so
        one that several sessions hold is given to each as a copy."""
        for origin, end in self._origins(index):
            for source, record in self._standing(origin):
                if record.ordinal is not None and record.ordinal < end and record.native_id:
                    yield source, _copied(record)
        if self._has_bases:
            yield from ((source, _copied(record)) for source, record in self._own(index))
        else:
            yield from self._own(index)

    def _origins(self, index: int) -> list[tuple[int, int]]:
        """The sessions whose history it begins with, the farthest first, and up to where."""
        found: list[tuple[int, int]] = []
        seen, row, end = {index}, self._rows[index], NEVER
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

    def _own(self, index: int) -> Iterator[tuple[SourceRow, Record]]:
        held = self._translated.get(index)
        if held is not None:
            return iter(held)
        native = self._rows[index].native_id
        return (
            (source, record)
            for source in self._sources[index]
            for record in stored_records(self._store, source)
            if record.session == native and record.problem is None
        )

    def _reverts(self, index: int) -> Iterator[tuple[SourceRow, Record]]:
        """Where a second file of the session took back what the first one ended with."""
        if len(self._sources[index]) < 2:
            return iter(())
        return (held for held in self._own(index) if _taken_back_to(held[1]) != NEVER)

    def _standing(self, index: int) -> Iterator[tuple[SourceRow, Record]]:
        """What a session wrote itself, without what it took back."""
        if len(self._sources[index]) < 2:
            return self._own(index)
        kept: list[tuple[SourceRow, Record]] = []
        for source, record in self._own(index):
            end = _taken_back_to(record)
            if end != NEVER:
                kept = [held for held in kept if (held[1].ordinal or 0) < end]
            kept.append((source, record))
        return iter(kept)

    def _survey(self) -> None:
        """Which session holds which records and responses."""
        held_bytes = sum(source.kept for sources in self._sources for source in sources)
        for index in range(len(self._rows) if held_bytes <= HELD_IN_MEMORY else 0):
            self._translated[index] = list(self._own(index))
        for index in range(len(self._rows)):
            mask, records = 1 << index, self._records(index)
            for _, record in records:
                if record.native_id and record.events:
                    key = record_key(record.native_id)
                    self._held[key] = self._held.get(key, 0) | mask
                    self._first_seen.setdefault(key, NEVER if record.ts is None else record.ts)
                for used in usage_in(record):
                    self._used[used.usage_id] = self._used.get(used.usage_id, 0) | mask

    def _write(self, index: int, owners: "Owners") -> int | None:
        """Settle and store one session; says which session its last copied record belongs to."""
        row = self._rows[index]
        inferred = (row.parent_uid, row.relation)
        _reset(row)
        self._ingest.rename(row, None)
        if row.parent_uid is None and inferred[0] and self._store.sessions.is_evicted(inferred[0]):
            # It was a copy of what is not here to be compared with.
            row.parent_uid, row.relation = inferred
        inherited: list[int] = []

        def owned(record: bytes) -> bool:
            holders = self._held.get(record, 1 << index)
            owner = owners.of(holders)
            if owner != index:
                inherited[:] = [owner]
            return owner == index

        writing: SessionWriting | None = None
        for source, batch in _batches(self._records(index)):
            if writing is None:
                writing = SessionWriting(self._store, row, source)
            writing.read_from(source)
            writing.identify(batch)
            writing.settle(batch, owned)
            writing.find_own_usage(self._frozen)
            writing.count_usage()
            writing.flush()
        if writing is None:
            self._ingest.save(row)
            return None
        if writing.settling.state.branched:
            writing.mark_branches()
        if row.parent_uid is None and writing.counts_for is not None:
            name_parent(row, self._store.sessions.row_by_id(writing.counts_for))
        self._have_turns |= writing.has_turns
        row.own_records = sum(1 for mask in self._held.values() if mask == 1 << index)
        if len(self._rows) == 1:
            row.own_records = writing.named_records
        self._ingest.finish(row, writing)
        return inherited[0] if inherited else None

    def _assign_usage(self, owners: "Owners") -> None:
        """A response that several sessions logged counts once, for its owner."""
        uids = {row.id: row.uid for row in self._rows}
        for usage_id, mask in self._used.items():
            if mask & (mask - 1) == 0:
                continue
            owner = self._rows[owners.of(mask)].id
            flavor = self._rows[0].flavor
            held = self._store.usage.held(key_of(flavor, usage_id), usage_id)
            if not held or any(logged[1] in self._frozen for logged in held):
                # It stood only on lines that go under the id of another record, or it counts for
                # a session that is evicted.
                continue
            held.sort(key=lambda logged: uids[logged[1]])
            # The largest output is the whole answer; among equals the owner's own record.
            best = max(held, key=lambda logged: (logged[2], logged[1] == owner))
            for logged in held:
                self._store.usage.set_owner(logged[0], owner if logged is best else None)
        if len(self._rows) > 1:
            for row in self._rows:
                for name, value in zip(BUCKETS, self._store.usage.sums(row.id), strict=True):
                    setattr(row, name, value)
                self._store.sessions.save(row)

    def _name_parents(self, inherits_from: list[int | None]) -> None:
        for row, owner in zip(self._rows, inherits_from, strict=True):
            if owner is not None:
                name_parent(row, self._rows[owner])
                self._store.sessions.save(row)

    def _sharing_with_frozen(self) -> set[tuple[int, int]]:
        """What is evicted still shares what it shared."""
        sessions = self._store.sessions
        found = {(row.id, other) for row in self._rows for other in sessions.sharing_with(row.id)}
        return {pair for pair in found if pair[1] in self._frozen}

    def _remember_sharing(self, away: set[tuple[int, int]]) -> None:
        pairs = set(away)
        for mask in {*self._held.values(), *self._used.values()}:
            # Enough to find all from each: every pair would be many for many forks.
            first, *others = (row.id for n, row in enumerate(self._rows) if mask >> n & 1)
            pairs.update((first, other) for other in others)
        self._store.sessions.set_sharing(pairs)
        sharing = {session for pair in pairs for session in pair}
        for row in self._rows:
            row.has_shared = int(row.id in sharing)
            row.stale = 0
            if row.relation == "subagent":
                self._ingest.place_again(row)
            self._store.sessions.save(row)


class Owners:
    """Who owns a record that several sessions hold (DESIGN.md, section 5)."""

    def __init__(
        self, rows: list[SessionRow], held: dict[bytes, int], first_seen: dict[bytes, int]
    ) -> None:
        self._rows = rows
        self._counts = Counter(held.values())
        self._totals = [
            sum(count for mask, count in self._counts.items() if mask >> index & 1)
            for index in range(len(rows))
        ]
        # The first in the order of reading, whatever the clock said later: it stays the first.
        first_own: dict[int, int] = {}
        for key, mask in held.items():
            first_own.setdefault(mask, first_seen[key])
        self._first_own = [first_own.get(1 << index, NEVER) for index in range(len(rows))]
        self._known: dict[int, int] = {}

    def of(self, mask: int) -> int:
        """The position of the owner among the holders in ``mask``."""
        if mask not in self._known:
            self._known[mask] = self._choose(mask)
        return self._known[mask]

    def _choose(self, mask: int) -> int:
        holders = [index for index in range(len(self._rows)) if mask >> index & 1]
        holders = self._named_parents(holders) or holders
        common = sum(count for held, count in self._counts.items() if held & mask == mask)
        whole = [index for index in holders if self._totals[index] == common]
        # Forked at several places, an origin shares all it has, though not all with everyone.
        shared = [index for index in holders if not self._counts[1 << index]]
        return min(
            whole or shared or holders,
            key=lambda index: (self._first_own[index], self._rows[index].uid),
        )

    def _named_parents(self, holders: list[int]) -> list[int]:
        uids = {self._rows[index].uid: index for index in holders}
        parents = {index: uids.get(told_parent(self._rows[index]) or "") for index in holders}
        named = {parent for parent in parents.values() if parent is not None}
        return sorted(index for index in named if parents[index] is None) or sorted(named)


def _taken_back_to(record: Record) -> int:
    """The ordinal from which on a record takes its session's earlier records back."""
    base = record.base
    return base.ordinal if base is not None and base.session == record.session else NEVER


def _copied(record: Record) -> Record:
    twin = copy(record)
    twin.events = [copy(event) for event in record.events]
    return twin


def _batches(
    records: Iterator[tuple[SourceRow, Record]],
) -> Iterator[tuple[SourceRow, list[Record]]]:
    """Runs of records of the same source, bounded in length."""
    batch: list[Record] = []
    current: SourceRow | None = None
    for source, record in records:
        if current is not None and (source is not current or len(batch) >= BATCH):
            yield current, batch
            batch = []
        current = source
        batch.append(record)
    if current is not None:
        yield current, batch


def _reset(row: SessionRow) -> None:
    """Back to what a session is before its first record; watermarks and documents stay."""
    row.state = msgspec.msgpack.encode(SettleState())
    row.own_records = row.event_count = row.turns = row.retries = row.wall_clock_ms = 0
    row.started_at = row.ended_at = None
    for name in BUCKETS:
        setattr(row, name, 0)
    if not is_told(row):
        row.parent_uid = row.relation = None
