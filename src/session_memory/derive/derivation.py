"""Deriving stale sessions again from the stored logs.

Sessions that share records are derived together, in one transaction. What comes out depends on
the stored logs alone, never on the order in which files were found.
"""

from collections.abc import Collection, Iterator

import msgspec

from session_memory.adapters.base import Record
from session_memory.core.errors import AdapterFailed, AdapterUnusable
from session_memory.core.roles import LOGS
from session_memory.derive.cluster_records import HELD_IN_MEMORY, ClusterRecords, PlacedRecord
from session_memory.derive.connected import connected_sessions
from session_memory.derive.facts import origin_is_logged
from session_memory.derive.ingest import Ingest
from session_memory.derive.owners import Owners, is_single, positions
from session_memory.derive.placement import infer_parent
from session_memory.derive.raw_source import stored_records
from session_memory.derive.readers import note_substitute
from session_memory.derive.reported_usage import settle_reports
from session_memory.derive.repository_names import DomainOf, RepositoryNames
from session_memory.derive.same_ids import OTHER_CONTENT, OtherContent, Places, SameIds
from session_memory.derive.settle import SettleState
from session_memory.derive.turns_with_subagents import set_sums
from session_memory.derive.usage_writing import Response, usage_in, usage_key
from session_memory.derive.writing import SessionWriting, decode_state
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

BATCH = 2000


def derive_stale(
    store: Store,
    now: int,
    repositories: RepositoryNames | DomainOf,
    *,
    without: Collection[int] = (),
) -> int:
    """Derive every stale session, with those it shares records with. Returns their number.

    Sessions that no adapter can read keep their events and stay stale; `readers.substituted` names
    them.
    """
    derived, left = 0, set(without)
    if not isinstance(repositories, RepositoryNames):
        repositories = RepositoryNames(store, repositories)
    while stale := [session_id for session_id in store.sessions.stale() if session_id not in left]:
        with store.transaction():
            if _append_new(store, stale[0], now, repositories):
                derived += 1
                continue
            cluster = connected_sessions(store, stale[0])
            derivation = Derivation(store, cluster, now, repositories)
            try:
                while outsiders := derivation.outside_holders():
                    store.sessions.set_sharing({(cluster[0], other) for other in outsiders})
                    cluster = connected_sessions(store, cluster[0])
                    derivation = Derivation(store, cluster, now, repositories)
            except (AdapterUnusable, AdapterFailed) as failure:
                # All records are read before anything is dropped, so nothing is lost here.
                note_substitute(store, failure.flavor, str(failure))
                left.update(cluster)
                continue
            derivation.run()
        derived += len(cluster)
    return derived


def _append_new(store: Store, session_id: int, now: int, repositories: RepositoryNames) -> bool:
    """Append a session that was never derived, if all others can stay as they are.

    A long fork is read in several batches. Only all its records together show that it is one.
    """
    row = store.sessions.row_by_id(session_id)
    if not row.is_new:
        return False
    sources = [one for one in store.sources.read_by(session_id) if one.role in LOGS]
    if len(sources) != 1 or sources[0].kept > HELD_IN_MEMORY:
        return False
    try:
        records = [
            record
            for record in stored_records(store, sources[0])
            if record.session == row.native_id and record.problem is None
        ]
    except (AdapterUnusable, AdapterFailed):
        return False
    row.stale = 0
    return Ingest(store, now, repositories).append_if_safe(row, sources[0], records) is None


class Derivation:
    """One cluster of sessions. Sets of sessions are bit masks over their positions in it.

    ``_same_ids`` and ``_used_by`` know which sessions hold each record and each response.
    """

    def __init__(
        self, store: Store, cluster: list[int], now: int, repositories: RepositoryNames
    ) -> None:
        self._store = store
        rows = [store.sessions.row_by_id(session_id) for session_id in cluster]
        # The logs of an evicted session are not in the store. The session stays as it is, and the
        # usage counted for it still counts for it.
        self._rows = [row for row in rows if row.evicted_at is None]
        self._evicted = frozenset(row.id for row in rows if row.evicted_at is not None)
        self._evicted_usage = store.usage.counted_for(sorted(self._evicted))
        self._records = ClusterRecords(store, self._rows)
        self._ingest = Ingest(store, now, repositories)
        self._now = now
        self._same_ids = SameIds()
        self._holders = self._same_ids.holders
        self._used_by: dict[Response, int] = {}
        self._has_turns = False

    def outside_holders(self) -> set[int]:
        """Sessions outside the cluster that hold some of its records or responses.

        The newest records of a stale session were not compared with other sessions yet.
        """
        self._survey()
        holders = {session for _, session in self._store.events.holders(list(self._holders))}
        counters = {
            usage.session_id
            for usage in self._store.usage.stored(self._usage_keys())
            if (usage.usage_id, usage.is_reported) in self._used_by
        }
        return (holders | counters) - {row.id for row in self._rows} - self._evicted

    def _usage_keys(self) -> list[int]:
        flavors = {row.flavor for row in self._rows[:1]}
        ids = {usage_id for usage_id, _ in self._used_by}
        return [usage_key(flavor, usage_id) for flavor in flavors for usage_id in ids]

    def run(self) -> None:
        """Derive the cluster: drop what was derived, and write all its sessions again."""
        owners = Owners(self._rows, self._holders, self._same_ids.first_seen())
        self._note_other_contents(self._other_contents(owners))
        shared_with_evicted = self._sharing_with_evicted()
        reported = {key for row in self._rows for key in self._store.usage.also_reported(row.id)}
        for row in self._rows:
            self._store.events.drop(row.id)
            self._store.sessions.drop_derived(row.id)
        inherits_from = [self._write(index, owners) for index in range(len(self._rows))]
        self._assign_usage(owners)
        settle_reports(self._store, reported.union(self._usage_keys()), self._rows)
        if self._has_turns:
            self._ingest.subtract_subagents(self._rows)
        self._infer_parents(inherits_from)
        self._save_sharing(shared_with_evicted)

    def _survey(self) -> None:
        """Find out which session holds which records and responses."""
        self._records.load_small()
        for index in range(len(self._rows)):
            mask = 1 << index
            for _, record in self._records.of(index):
                if record.events:
                    self._same_ids.add(record, mask)
                for used in usage_in(record):
                    response = used.usage_id, used.is_reported
                    self._used_by[response] = self._used_by.get(response, 0) | mask

    def _other_contents(self, owners: Owners) -> list[OtherContent]:
        """Give records with the same id and other content keys of their own."""
        places = Places(self._same_ids)
        for index, row in enumerate(self._rows if self._same_ids.contents else ()):
            places.add(index, row, self._records.of(index))
        return list(self._same_ids.choose_keys(owners, places))

    def _note_other_contents(self, found: list[OtherContent]) -> None:
        """Store a problem for each of these records, and remove those of an earlier derivation."""
        problems: dict[int, dict[int, str]] = {}
        for row in self._rows:
            if decode_state(row.state).has_variants:
                for source_id in self._store.sessions.source_ids(row.id):
                    problems[source_id] = {}
        for one in found:
            problems.setdefault(one.place.source.id, {})[one.place.offset] = one.detail
        uids = {row.uid for row in self._rows}
        for source_id, details in problems.items():
            self._store.problems.replace(source_id, OTHER_CONTENT, uids, details, self._now)

    def _write(self, index: int, owners: Owners) -> int | None:
        """Settle and store one session. Returns the owner of its last inherited record."""
        row = self._rows[index]
        inferred = (row.parent_uid, row.relation)
        _reset(row)
        self._ingest.rename(row, None)
        if row.parent_uid is None and inferred[0] and self._store.sessions.is_evicted(inferred[0]):
            # It is a copy of an evicted session, whose records are not here to be compared.
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
                writing = SessionWriting(self._store, row, source)
            writing.read_from(source)
            writing.identify(batch, self._same_ids)
            writing.settle(batch, owned)
            writing.usage.find_stored(self._evicted_usage)
            writing.usage.count()
            writing.flush()
        if writing is None:
            self._ingest.save(row)
            return None
        if writing.settling.state.branched:
            writing.mark_branches()
        if row.parent_uid is None and writing.usage.counts_for is not None:
            infer_parent(row, self._store.sessions.row_by_id(writing.usage.counts_for))
        self._has_turns |= writing.usage.has_turns
        row.own_records = owners.own_records(index)
        if len(self._rows) == 1:
            row.own_records = writing.named_records
        self._ingest.finish(row, writing)
        return inherited[0] if inherited else None

    def _assign_usage(self, owners: Owners) -> None:
        """Let a response that several sessions logged count once, for its owner."""
        uids = {row.id: row.uid for row in self._rows}
        usages, flavor = self._store.usage, self._rows[0].flavor
        for (usage_id, is_reported), mask in self._used_by.items():
            if is_single(mask):
                continue
            owner = self._rows[owners.of(mask)].id
            logged = [
                usage
                for usage in usages.stored([usage_key(flavor, usage_id)])
                if usage.usage_id == usage_id and usage.is_reported == is_reported
            ]
            if not logged or any(usage.session_id in self._evicted for usage in logged):
                # It counts for an evicted session. Or no session stored it, because all its
                # records repeat the id of another record.
                continue
            logged.sort(key=lambda usage: uids[usage.session_id])
            # The largest output is the whole answer; among equals the owner's own record.
            best = max(logged, key=lambda usage: (usage.output_tokens, usage.session_id == owner))
            give = usages.give_report if is_reported else usages.set_owner
            for usage in logged:
                give(usage.id, owner if usage is best else None)
        if len(self._rows) > 1:
            for row in self._rows:
                set_sums(self._store, row)
                self._store.sessions.save(row)

    def _infer_parents(self, inherits_from: list[int | None]) -> None:
        for row, owner in zip(self._rows, inherits_from, strict=True):
            if owner is not None:
                infer_parent(row, self._rows[owner])
                self._store.sessions.save(row)

    def _sharing_with_evicted(self) -> set[tuple[int, int]]:
        """Pairs of a session of the cluster and an evicted one that it shares records with."""
        sessions = self._store.sessions
        found = {(row.id, other) for row in self._rows for other in sessions.sharing_with(row.id)}
        return {pair for pair in found if pair[1] in self._evicted}

    def _save_sharing(self, shared_with_evicted: set[tuple[int, int]]) -> None:
        """Store which sessions share records, and that none of the cluster is stale."""
        pairs = set(shared_with_evicted)
        for mask in {*self._same_ids.sharing(), *self._used_by.values()}:
            # Pairs with the first holder connect all holders. All pairs would be too many.
            first, *others = (self._rows[index].id for index in positions(mask))
            pairs.update((first, other) for other in others)
        self._store.sessions.set_sharing(pairs)
        sharing = {session for pair in pairs for session in pair}
        for row in self._rows:
            row.has_shared = int(row.id in sharing)
            # A session that was written later may have named the repository.
            self._ingest.repositories.refresh(row)
            row.stale = 0
            if row.relation == "subagent":
                self._ingest.placement.place_again(row)
            self._store.sessions.save(row)


def _batches(records: Iterator[PlacedRecord]) -> Iterator[tuple[SourceRow, list[Record]]]:
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


def _reset(row: CollectedSession) -> None:
    """Set a row back to what it was before its first record; watermarks and documents stay."""
    row.state = msgspec.msgpack.encode(SettleState())
    row.own_records = row.event_count = row.turns = row.retries = row.wall_clock_ms = 0
    row.started_at = row.ended_at = None
    for name in BUCKETS:
        setattr(row, name, 0)
    if not origin_is_logged(row):
        row.parent_uid = row.relation = None
