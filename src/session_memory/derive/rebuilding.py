"""Making everything derived again from the stored logs. The agents' own files are not needed."""

from collections.abc import Callable, Collection
from itertools import islice
from typing import NamedTuple

from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.errors import AdapterFailed
from session_memory.core.ids import split_uid
from session_memory.core.roles import LOGS
from session_memory.derive.derivation import derive_stale
from session_memory.derive.ingest import Ingest
from session_memory.derive.line_counts import LineCounts, problems_in
from session_memory.derive.raw_source import stored_records
from session_memory.derive.readers import unusable_flavors
from session_memory.derive.reindex import docs_of
from session_memory.derive.repository_names import DomainOf, RepositoryNames
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

BATCH = 2000


class RebuildReport(NamedTuple):
    """``sources`` were read anew. Sessions of the flavors in ``skipped`` stay as they were, for
    the reason given."""

    sources: int
    skipped: dict[str, str]


def rebuild(
    store: Store, now: int, domain_of: DomainOf, on_source: Callable[[SourceRow], None]
) -> RebuildReport:
    """Drop everything derived and make it again from the stored logs, in one transaction.

    Without a usable adapter nothing could be made again, so such sessions stay as they are. An
    adapter that fails on the way rolls everything back; then its sessions stay as they are too.
    """
    skipped = unusable_flavors(store)
    while True:
        try:
            with store.db.operation_lock(shared=True), store.transaction():
                return RebuildReport(_rebuild(store, now, domain_of, on_source, skipped), skipped)
        except AdapterFailed as failure:
            skipped[failure.flavor] = str(failure)


def _rebuild(
    store: Store,
    now: int,
    domain_of: DomainOf,
    on_source: Callable[[SourceRow], None],
    skipped: Collection[str],
) -> int:
    store.drop_all_derived(keep=skipped)
    ingest = Ingest(store, now, domain_of)
    evicted, read = store.retention.evicted(), 0
    for source in store.sources.every():
        on_source(source)
        if source.flavor not in skipped:
            read += 1
            if source.id not in evicted:
                read_again(store, ingest, source, now)
    derive_stale(store, now, domain_of)
    store.sessions.drop_orphans()
    RepositoryNames(store, domain_of).rename_all()
    if skipped:
        for session_id, (uid, _) in store.sessions.revisions().items():
            if split_uid(uid)[0] in skipped:
                store.index.add(list(docs_of(store, session_id, uid)))
    return read


def read_again(store: Store, ingest: Ingest, source: SourceRow, now: int) -> None:
    """Ingest a stored source, with the problems of its records."""
    counts = LineCounts()
    records = stored_records(store, source)
    for batch in iter(lambda: list(islice(records, BATCH)), []):
        counts.add(batch)
        if source.starts_at is None and source.role in LOGS:
            # It was imported without its adapter.
            source.starts_at = next((r.ts for r in batch if r.ts is not None), None)
        store.problems.add(source.id, problems_in(batch), now)
        ingest.add(source, batch)
    source.lines = source.lenient = 0
    source.bookkeeping = "{}"
    source.adapter_version = agent_or_substitute(source.flavor).version
    counts.add_to(source)
    store.sources.save(source)
