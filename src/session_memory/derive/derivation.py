"""Derive a cluster, which is a set of sessions that share records, again from the stored logs.

The sessions that get or lose records are written in one transaction, the others in pieces. The
result depends on the stored logs alone, never on the order in which files were found.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from session_memory.adapters.base import Record
from session_memory.derive.cluster_records import ClusterRecords, PlacedRecord
from session_memory.derive.cluster_usage import ClusterUsage
from session_memory.derive.ingest import Ingest
from session_memory.derive.new_sessions import reset
from session_memory.derive.owners import Owners, positions
from session_memory.derive.placement import infer_parent
from session_memory.derive.reported_usage import settle_reports
from session_memory.derive.repository_names import RepositoryNames
from session_memory.derive.response_ids import note_shared_ids, shared_ids
from session_memory.derive.same_ids import OTHER_CONTENT, OtherContent, Places, SameIds
from session_memory.derive.turns_with_subagents import set_sums
from session_memory.derive.unchanged_sessions import (
    Unmoved,
    inherits_from,
    is_shown_otherwise,
    set_parent,
    unmoved,
)
from session_memory.derive.writing import SessionWriting, decode_state
from session_memory.store.session_links import subagents_named_by
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

BATCH = 2000
# The sessions that are written in one piece have about this many events. Each session counts as
# `PER_SESSION` further events, because of its other rows.
PIECE_EVENTS, PER_SESSION = 1000, 20


class Derivation:
    """Derives one cluster: sessions that share records. A set of sessions is a bit mask.

    ``_same_ids`` and ``_usage`` know which sessions hold each record and each response.
    """

    def __init__(
        self, store: Store, cluster: list[int], now: int, repositories: RepositoryNames
    ) -> None:
        self._store = store
        self.sessions = cluster
        found = store.sessions.rows_by_id(cluster)
        rows = [found[session_id] for session_id in cluster]
        self._as_read = {row.id: msgspec.structs.replace(row) for row in rows}
        # The logs of an evicted session are not in the store. The session stays as it is, and the
        # usage counted for it still counts for it.
        self._rows = [row for row in rows if row.evicted_at is None]
        self._evicted = frozenset(row.id for row in rows if row.evicted_at is not None)
        self._records = ClusterRecords(store, self._rows)
        self._ingest = Ingest(store, now, repositories)
        self._now = now
        self._same_ids = SameIds()
        self._holders = self._same_ids.holders
        self._usage = ClusterUsage(store, self._rows, self._evicted)
        self._unmoved = Unmoved()
        # The positions of the sessions that are written together.
        self._pieces: deque[list[int]] = deque()
        # Sessions whose usage may change.
        self._written: set[int] = set()
        self._has_turns = False
        self._other_contents: list[OtherContent] = []
        self._settled: dict[int, _SettledSession] = {}

    def outside_holders(self) -> set[int]:
        """Sessions outside the cluster that hold some of its records or responses.

        The newest records of a stale session were not compared with other sessions yet.
        """
        holders = {session for _, session in self._store.events.holders(list(self._holders))}
        known = {row.id for row in self._rows} | self._evicted
        return (holders - known) | self._usage.outsiders(self._records)

    def is_current(self) -> bool:
        """Whether no other process has changed anything that was read."""
        sessions = self._store.sessions
        return (
            sessions.rows_by_id(self.sessions) == self._as_read
            and sessions.sharing_with_any(self.sessions) <= set(self.sessions)
            and self._records.are_current()
            and not self.outside_holders()
        )

    @property
    def size(self) -> int:
        """The number of bytes of the logs that were read."""
        return self._records.size

    @property
    def is_done(self) -> bool:
        """Whether all pieces are written."""
        return not self._pieces

    def write(self, now: int, repositories: RepositoryNames) -> bool:
        """Derive a piece of the cluster: drop what was derived, and write its sessions again.

        Always returns True; `NewSession.write` may return False.
        """
        kept = [] if self._written else sorted(self._unmoved.kept)
        self._run(self._pieces.popleft(), kept)
        if self._pieces:
            self._as_read = self._store.sessions.rows_by_id(self.sessions)
            for row in self._rows:
                row.revision = self._as_read[row.id].revision
        return True

    def _run(self, piece: list[int], kept: list[int]) -> None:
        """Write the sessions in ``piece``. Of the ``kept`` sessions, write only what has
        changed."""
        owners, rows = self._owners, [self._rows[index] for index in (*piece, *kept)]
        self._note_other_contents(self._other_contents)
        shared_with_evicted = self._sharing_with_evicted() if self._evicted else set()
        again = [self._rows[index].id for index in piece]
        self._written = set(again)
        reported = {key for one in again for key in self._store.usage.also_reported(one)}
        shared = shared_ids(self._store, again)
        linked = subagents_named_by(self._store.db, again)
        for session_id in again:
            self._store.events.drop(session_id)
            self._store.sessions.drop_derived(session_id)
        owner_of = {index: self._write(index, owners) for index in piece}
        for index in kept:
            owner_of[index] = inherits_from(index, self._records, self._same_ids, owners)
            self._rows[index].own_records = owners.own_records(index)
        self._assign_usage(owners, piece, rows)
        reported.update(self._usage.keys())
        self._written |= settle_reports(self._store, reported, rows)
        shared |= shared_ids(self._store, self._written)
        note_shared_ids(self._store, shared, self._written, self._now)
        if self._has_turns:
            self._ingest.subtract_subagents(rows)
        self._infer_parents(owner_of)
        self._save_sharing(shared_with_evicted, owner_of)
        self._ingest.placement.place_unlinked(linked)

    def survey(self) -> None:
        """Find out which session holds which records and responses."""
        self._records.load_small()
        for index in range(len(self._rows)):
            mask = 1 << index
            for _, record in self._records.of(index):
                if record.events:
                    self._same_ids.add(record, mask)
                if record.usage is not None:
                    self._usage.add(record, mask)

    def settle(self) -> None:
        """Choose the owners, and settle all records if they are in memory. Then the transaction
        only has to write rows."""
        self._owners = Owners(self._rows, self._holders, self._same_ids.first_seen())
        self._other_contents = self._found_contents(self._owners)
        if self._records.are_in_memory:
            if not self._evicted:
                found = self._rows, self._records, self._same_ids, self._owners
                self._unmoved = unmoved(self._store, *found)
            for index in range(len(self._rows)):
                if index not in self._unmoved.kept:
                    self._settled[index] = self._settle_one(index, at_once=True)
        self._plan()

    def _plan(self) -> None:
        """Plan the pieces. Sessions that get or lose records are together in the first piece."""
        kept, stale = self._unmoved
        moved = set(range(len(self._rows))).difference(kept, stale)
        self._pieces.append(sorted(moved))
        size = 0
        for index in stale:
            if size > PIECE_EVENTS:
                self._pieces.append([])
                size = 0
            self._pieces[-1].append(index)
            size += PER_SESSION + self._as_read[self._rows[index].id].event_count

    def _found_contents(self, owners: Owners) -> list[OtherContent]:
        """Let records that have the same id but different content have different keys."""
        places = Places(self._same_ids)
        for index, row in enumerate(self._rows if self._same_ids.contents else ()):
            places.add(index, row, self._records.of(index))
        return list(self._same_ids.choose_keys(owners, places))

    def _note_other_contents(self, found: list[OtherContent]) -> None:
        """Store a problem for each record in ``found``, and remove those of earlier derivations."""
        problems: dict[int, dict[int, str]] = {}
        for row in self._as_read.values():
            if row.evicted_at is None and decode_state(row.state).has_variants:
                for source_id in self._store.sessions.source_ids(row.id):
                    problems[source_id] = {}
        for one in found:
            problems.setdefault(one.place.source.id, {})[one.place.offset] = one.detail
        uids = {row.uid for row in self._rows}
        for source_id, details in problems.items():
            self._store.problems.replace(source_id, OTHER_CONTENT, uids, details, self._now)

    def _settle_one(self, index: int, *, at_once: bool) -> "_SettledSession":
        """Settle one session. Without ``at_once``, its rows are stored batch by batch."""
        row, owners = self._rows[index], self._owners
        inferred = (row.parent_uid, row.relation)
        reset(row)
        self._ingest.rename(row, None)
        if row.parent_uid is None and inferred[0] and self._store.sessions.is_evicted(inferred[0]):
            # The session copied an evicted session, whose records are not here to be compared. Keep
            # the parent that was inferred before.
            row.parent_uid, row.relation = inferred
        inherited: list[int] = []

        def owned(record: bytes) -> bool:
            holders = self._holders.get(record, 1 << index)
            owner = owners.of(holders)
            if owner != index:
                inherited[:] = [owner]
            return owner == index

        writing: SessionWriting | None = None
        for source, batch in _batches(self._records.of(index)):
            if writing is None:
                writing = SessionWriting(self._store, row, source, at_once=at_once)
            writing.read_from(source)
            writing.identify(batch, self._same_ids)
            writing.settle(batch, owned)
            if not at_once:
                self._flush(writing)
        return _SettledSession(writing, inherited)

    def _flush(self, writing: SessionWriting) -> None:
        writing.usage.find_stored(self._usage.evicted)
        writing.usage.count()
        writing.flush()

    def _write(self, index: int, owners: Owners) -> int | None:
        """Store one session. Returns the owner of its last inherited record."""
        row, settled = self._rows[index], self._settled.get(index)
        if settled is None:
            settled = self._settle_one(index, at_once=False)
        writing, inherited = settled
        if writing is None:
            self._ingest.save_without_records(row)
            return None
        if settled is self._settled.get(index):
            self._flush(writing)
        if writing.settling.state.branched:
            writing.mark_branches()
        if row.parent_uid is None and writing.usage.counts_for is not None:
            infer_parent(row, self._store.sessions.row_by_id(writing.usage.counts_for))
        self._has_turns |= writing.usage.has_turns
        row.own_records = owners.own_records(index)
        if len(self._rows) == 1:
            row.own_records = writing.named_records
        self._ingest.finish(row, writing)
        self._written |= writing.usage.changed
        return inherited[0] if inherited else None

    def _assign_usage(self, owners: Owners, piece: list[int], rows: list[CollectedSession]) -> None:
        """Let a response that several sessions logged count once, for its owner.

        Sessions whose sums changed are saved here, except those in ``rows``: the caller saves them.
        """
        among = sum(1 << index for index in piece)
        self._written |= self._usage.assign(owners, self._holders.values(), among)
        if len(self._rows) == 1:
            return
        for row in rows:
            if row.id in self._written:
                set_sums(self._store, row)
        elsewhere = {row.id for row in self._rows}.difference(row.id for row in rows)
        for session_id in sorted(elsewhere & self._written):
            other = self._store.sessions.row_by_id(session_id)
            set_sums(self._store, other)
            other.revision += 1
            self._store.sessions.save(other)

    def _infer_parents(self, owner_of: dict[int, int | None]) -> None:
        for index, owner in owner_of.items():
            row = self._rows[index]
            if index in self._unmoved.kept:
                set_parent(row, None if owner is None else self._rows[owner])
            elif owner is not None:
                infer_parent(row, self._rows[owner])
                self._store.sessions.save(row)

    def _sharing_with_evicted(self) -> set[tuple[int, int]]:
        """Pairs of a session of the cluster and an evicted one that it shares records with."""
        sessions = self._store.sessions
        found = {(row.id, other) for row in self._rows for other in sessions.sharing_with(row.id)}
        return {pair for pair in found if pair[1] in self._evicted}

    def _save_sharing(
        self, shared_with_evicted: set[tuple[int, int]], indexes: Iterable[int]
    ) -> None:
        """Store which sessions share records. Those at ``indexes`` are no longer stale."""
        pairs = set(shared_with_evicted)
        for mask in {*self._same_ids.sharing(), *self._usage.same}:
            # Pairs with the first holder connect all holders. All pairs would be too many.
            first, *others = (self._rows[index].id for index in positions(mask))
            pairs.update((first, other) for other in others)
        self._store.sessions.set_sharing(pairs)
        sharing = {session for pair in pairs for session in pair}
        for index in indexes:
            row = self._rows[index]
            row.has_shared = int(row.id in sharing)
            # A session that was written later may have named the repository.
            self._ingest.repositories.refresh(row)
            row.stale = 0
            if row.relation == "subagent":
                self._ingest.placement.place_again(row)
            if index not in self._unmoved.kept:
                self._store.sessions.save(row)
            elif row != (before := self._as_read[row.id]):
                if row.revision == before.revision and is_shown_otherwise(row, before):
                    row.revision += 1
                self._store.sessions.save(row)


class _SettledSession(NamedTuple):
    """A settled session that is not stored yet. Without records it has no ``writing``.

    ``inherited`` is the position of the owner of the last record that it inherits, or empty.
    """

    writing: SessionWriting | None
    inherited: list[int]


def _batches(records: Iterator[PlacedRecord]) -> Iterator[tuple[SourceRow, list[Record]]]:
    """Split records into runs from the same source, of at most `BATCH` records."""
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
