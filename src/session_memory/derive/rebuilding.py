"""Derive everything again from the stored logs. The agents' own files are not needed.

All sources are marked first. Then each is read again, its sessions are marked stale, and these are
derived with all that they share records with. Each step is a short transaction, and a session keeps
its events until it is derived. So a reader never sees a session that is derived only in part.

A rebuild that is killed leaves marked sources. The next rebuild reads only these, and a sync
derives the sessions that are stale.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from session_memory.adapters.base import Record
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.errors import AdapterFailed
from session_memory.core.roles import LOGS
from session_memory.derive.cluster_records import HELD_IN_MEMORY
from session_memory.derive.connected import group_by_sources, group_of
from session_memory.derive.ingest import Ingest
from session_memory.derive.line_counts import LineCounts, problems_in
from session_memory.derive.raw_source import stored_records
from session_memory.derive.readers import unusable_flavors
from session_memory.derive.reindex import ensure_index
from session_memory.derive.repository_names import DomainOf, RepositoryNames
from session_memory.derive.stale_sessions import READ_TOGETHER, derive_stale
from session_memory.store.pieces import write_in_pieces
from session_memory.store.sources import UNREAD, SourceRow
from session_memory.store.store import Store

BATCH = 2000
SOURCES_AT_ONCE = 100


class RebuildReport(NamedTuple):
    """The result of a rebuild: the number of ``sources`` that were read again.

    Sessions of the flavors in ``skipped`` stayed as they were, for the reason given there.
    """

    sources: int
    skipped: dict[str, str]


def rebuild(
    store: Store, now: int, domain_of: DomainOf, on_source: Callable[[SourceRow], None]
) -> RebuildReport:
    """Derive everything again from the stored logs, one group of connected sessions after the
    other.

    Sessions without a usable adapter stay as they are, because they could not be derived again.
    When an adapter fails on a log, the sessions of that log stay too, and all sessions of its agent
    that would be derived after it.
    """
    with store.db.operation_lock(shared=True):
        skipped = unusable_flavors(store)
        work = _Rebuilding(store, now, domain_of, on_source, skipped)
        work.run()
        ensure_index(store)
    return RebuildReport(len(work.read_again), skipped)


class _Rebuilding:
    """One rebuild. ``read`` are the ids of the sources that were read."""

    def __init__(
        self,
        store: Store,
        now: int,
        domain_of: DomainOf,
        on_source: Callable[[SourceRow], None],
        skipped: dict[str, str],
    ) -> None:
        self.read: set[int] = set()
        self._store = store
        self._now = now
        # All groups use the same object: making it anew would read all sessions again.
        self._repositories = RepositoryNames(store, domain_of)
        self._on_source = on_source
        self._skipped = skipped
        self._evicted = store.retention.evicted()
        self._done: set[int] = set()
        self._unread: set[int] = set()
        self._left: set[int] = set()

    def run(self) -> None:
        store = self._store
        with store.transaction():
            store.figures.discard()
        # An interrupted sync may have left stale sessions. Derive them now, not with the first
        # group. Those that stay stale have no usable adapter. They are in `_left` and are not
        # derived.
        derive_stale(store, self._now, self._repositories)
        self._left = set(store.sessions.stale())
        self._unread = self._marked()
        for groups in self._batches():
            self._rebuild(groups)
        # A source without a session: nothing was found in it, or it was just copied into a store.
        for sources in self._without_session():
            self._rebuild_sources(sources)
        with store.transaction():
            for session_id in store.sessions.orphans():
                store.events.drop(session_id)
                store.sessions.drop(session_id)
            store.index.drop_orphans()
            self._repositories.rename_all()

    def _batches(self) -> Iterator[list["_ConnectedLogs"]]:
        """Groups of connected sessions, as many at a time as have `READ_TOGETHER` bytes of logs.

        A transaction takes as long for one small group as for ten.
        """
        batch: list[_ConnectedLogs] = []
        for session_id, flavor in self._store.sessions.outermost_first():
            if session_id in self._done or flavor in self._skipped:
                continue
            sessions, sources = group_of(self._store, [session_id])
            self._done |= sessions
            if sources.isdisjoint(self._unread):
                continue
            with self._skipping():
                batch.append(_ConnectedLogs(sessions, flavor, self._loaded(sources)))
            if sum(group.loaded.size for group in batch) >= READ_TOGETHER:
                yield batch
                batch = []
        yield batch

    @contextmanager
    def _skipping(self) -> Iterator[None]:
        """When an adapter fails in this block, skip its agent for the rest of the rebuild.

        The sessions of this log, and of logs that would be read after it, stay as they are.
        """
        try:
            yield
        except AdapterFailed as failure:
            self._skipped[failure.flavor] = str(failure)

    def _without_session(self) -> Iterator[set[int]]:
        """The sources without a session, of one agent at a time, up to `SOURCES_AT_ONCE` of them.

        Sources that hold the same session are read together, so that the session is derived only
        once.
        """
        unread = self._unread - self.read
        rest = [source for source in self._store.sources.every() if source.id in unread]
        for flavor in sorted({source.flavor for source in rest}):
            its = [source.id for source in rest if source.flavor == flavor]
            for first in range(0, len(its), SOURCES_AT_ONCE):
                if flavor not in self._skipped:
                    yield set(its[first : first + SOURCES_AT_ONCE])

    def _marked(self) -> set[int]:
        """Mark the sources that must be read again, and return their ids. If a rebuild was killed,
        these are the sources that it did not read."""
        sources = self._store.sources
        every = [row for row in sources.every() if row.flavor not in self._skipped]
        present = [row for row in every if row.id not in self._evicted]
        if any(row.adapter_version == UNREAD for row in present):
            return {row.id for row in present if row.adapter_version < _version(row)}
        write_in_pieces(self._store.transaction, (row.id for row in present), sources.mark_unread)
        return {row.id for row in every}

    def _rebuild(self, groups: list["_ConnectedLogs"]) -> None:
        """Derive some groups again. Their small logs were read before the transactions begin."""
        loaded = {one.row.id: one for group in groups for one in group.loaded.sources}
        read = set(self.read)
        try:
            # Each session is a step of its own: sessions that only share records have different
            # sources.
            write_in_pieces(
                self._store.transaction,
                (session for group in groups for session in sorted(group.sessions)),
                lambda session: self._read_sources_of(session, loaded),
            )
        except AdapterFailed as failure:
            self._skipped[failure.flavor] = str(failure)
        else:
            self._derive()
            return
        # The transaction that failed may have had sessions of several groups. So take back the
        # record of what was read, and try each group alone.
        self.read = read
        for group in groups if len(groups) > 1 else ():
            if group.flavor not in self._skipped:
                self._rebuild([group])

    def _rebuild_sources(self, sources: set[int]) -> None:
        """Derive again what is in sources without a session."""
        with self._skipping():
            loaded = {one.row.id: one for one in self._loaded(sources).sources}
            write_in_pieces(
                self._store.transaction,
                [row.id for row in self._in_order(sources)],
                lambda source: self._read_again(set(), {source}, loaded),
            )
            self._derive()

    def _derive(self) -> None:
        derive_stale(self._store, self._now, self._repositories, without=self._left)

    def _read_sources_of(self, session: int, loaded: dict[int, "_LoadedLog"]) -> None:
        store = self._store
        # Another process may have added to the sources, or forgotten the session.
        sessions, sources = group_by_sources(store, store.sessions.existing([session]))
        if not sources <= self.read:
            self._read_again(sessions, sources, loaded)

    def _read_again(
        self, sessions: set[int], sources: set[int], loaded: dict[int, "_LoadedLog"]
    ) -> None:
        """Read sources again and mark their sessions stale, inside a transaction."""
        store = self._store
        rows = self._in_order(sources)
        present = [row for row in rows if row.id not in self._evicted]
        again = sorted(sessions - store.retention.evicted_sessions())
        inferred = [row for row in map(store.sessions.row_by_id, again) if row.relation]
        store.sessions.begin_again(again)
        store.problems.clear_records([row.id for row in present])
        ingest = Ingest(store, self._now, self._repositories)
        for row in rows:
            self._on_source(row)
        for row in present:
            known = loaded.get(row.id)
            records = known.records if known is not None and known.row == row else None
            read_again(store, ingest, row, self._now, records)
        for session in inferred:
            # If the log names no parent, keep the parent that was inferred before, until the
            # session is derived.
            store.sessions.keep_parent(session)
        self.read |= sources

    @property
    def read_again(self) -> set[int]:
        """The ids of the sources whose logs were read. The logs of evicted sessions are in the
        archive, so their sources are left out."""
        return self.read - self._evicted.keys()

    def _in_order(self, sources: set[int]) -> list[SourceRow]:
        rows = map(self._store.sources.get, sources)
        return sorted(rows, key=lambda row: (row.host, row.path, row.generation))

    def _loaded(self, sources: set[int]) -> "_LoadedLogs":
        """The records of sources that are small together. Large ones are read when written."""
        store = self._store
        with store.db.snapshot():
            rows = [store.sources.get(one) for one in sources if one not in self._evicted]
            size = sum(row.kept for row in rows)
            if size > HELD_IN_MEMORY:
                return _LoadedLogs(size, [])
            return _LoadedLogs(
                size, [_LoadedLog(row, list(stored_records(store, row))) for row in rows]
            )


class _LoadedLog(NamedTuple):
    """The records of a source, and its row when they were read."""

    row: SourceRow
    records: list[Record]


class _LoadedLogs(NamedTuple):
    """The number of bytes of some sources, and their records."""

    size: int
    sources: list[_LoadedLog]


class _ConnectedLogs(NamedTuple):
    """Connected sessions, and their logs. ``flavor`` is the flavor of the outermost session."""

    sessions: set[int]
    flavor: str
    loaded: _LoadedLogs


def read_again(
    store: Store,
    ingest: Ingest,
    source: SourceRow,
    now: int,
    loaded: Iterable[Record] | None = None,
) -> None:
    """Ingest a stored source, with the problems of its records. The records may be ``loaded``
    already."""
    counts = LineCounts()
    records = iter(stored_records(store, source) if loaded is None else loaded)
    for batch in iter(lambda: list(islice(records, BATCH)), []):
        counts.add(batch)
        if source.starts_at is None and source.role in LOGS:
            # The time is missing if the source was imported without its adapter.
            source.starts_at = next((r.ts for r in batch if r.ts is not None), None)
        store.problems.add(source.id, problems_in(batch), now)
        ingest.add(source, batch)
    source.lines = source.lenient = 0
    source.bookkeeping = "{}"
    source.adapter_version = _version(source)
    counts.add_to(source)
    store.sources.save(source)


def _version(source: SourceRow) -> int:
    return agent_or_substitute(source.flavor).version
