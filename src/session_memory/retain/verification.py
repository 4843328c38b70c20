"""Verify a store: check all hashes and sums, and derive a sample of sessions again to compare."""

import random
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from session_memory.core.errors import AdapterFailed, AdapterUnusable, StoreDamaged
from session_memory.core.ids import split_uid
from session_memory.core.index_words import words_in
from session_memory.core.roles import TABLE
from session_memory.core.time import now_ms
from session_memory.derive.connected import connected_sessions
from session_memory.derive.live_sources import is_reordered, is_table, opened_table
from session_memory.derive.raw_source import stored_records
from session_memory.derive.readers import unusable_flavors
from session_memory.derive.rebuilding import rebuild
from session_memory.derive.reindex import docs_of
from session_memory.store.fingerprint import session_parts
from session_memory.store.live_check import live_findings
from session_memory.store.raw import PACK_BYTES, Pack, compressor, packed
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store, open_store
from session_memory.store.usage import BUCKETS
from session_memory.store.word_query import QueryWord, WordQuery

# How much is looked up in the index: events of a session, words of an event, characters of a text.
EVENTS_ASKED = 50
WORDS_ASKED = 4
LOOKED_AT = 20_000


class VerifyReport(msgspec.Struct, kw_only=True):
    """What was checked, and the faults as ``findings``. No faults means an empty list.

    ``skipped`` maps flavors to the reason why their sessions were not derived again: the adapter is
    missing, too old or broken. Their stored logs were checked.
    """

    packs: int = 0
    bytes: int = 0
    sessions: int = 0
    evicted: int = 0
    findings: list[str] = []
    skipped: dict[str, str] = {}


def verify(
    store: Store, sample: int = 20, on_source: Callable[[int], None] = lambda size: None
) -> VerifyReport:
    """Read and hash everything again, and derive ``sample`` sessions again to compare.

    If the database itself is damaged, that is the last finding: nothing behind it can be read.
    """
    report = VerifyReport()
    try:
        _verify(store, sample, on_source, report)
    except StoreDamaged as error:
        report.findings.append(str(error))
    return report


def _verify(
    store: Store, sample: int, on_source: Callable[[int], None], report: VerifyReport
) -> None:
    report.findings += store.db.check()
    with store.db.snapshot():
        report.skipped = unusable_flavors(store)
        evicted = store.retention.evicted()
        report.evicted = store.retention.count_evicted()
        for row in store.sources.every():
            start = store.retention.evicted_up_to(row.id, row.kept) if row.id in evicted else 0
            _check_raw(store, row, start, report)
            on_source(row.kept)
        _check_accounts(store, report)
        _check_sums(store, report)
        report.findings += live_findings(store.db)
        if not report.findings:
            _check_sample(store, sample, report)
            _check_words(store, sample, report)


def _check_raw(store: Store, row: SourceRow, evicted_up_to: int, report: VerifyReport) -> None:
    """Packs must follow each other without a gap, and their hashes must match."""
    place = evicted_up_to
    for pack in store.raw.packs(row.id):
        report.packs += 1
        report.bytes += pack.length
        if pack.start != place:
            report.findings.append(f"{row.path}: bytes {place} to {pack.start} are missing")
        place = pack.start + pack.length
        _unpack(store, row.id, pack, row.path, report)
    if place != row.kept:
        report.findings.append(f"{row.path}: {row.kept} bytes were kept, {place} are there")


def _unpack(store: Store, source_id: int, pack: Pack, path: str, report: VerifyReport) -> None:
    try:
        store.raw.unpacked(source_id, pack)
    except StoreDamaged as error:
        report.findings.append(f"{path}: {error}")


def _check_accounts(store: Store, report: VerifyReport) -> None:
    paths = {row.id: row.path for row in store.sources.every()}
    stale = {s for session in store.sessions.stale() for s in store.sessions.source_ids(session)}
    for source_id, account in store.sources.account().items():
        if account.unaccounted and source_id not in stale:
            missing = account.unaccounted
            report.findings.append(f"{paths[source_id]}: {missing} lines are not accounted for")


def _check_sums(store: Store, report: VerifyReport) -> None:
    """The cost of a session must be the sum of its usage, and no session may be stale.

    An evicted session with new lines may be stale.
    """
    for uid in store.sessions.uids():
        row = store.sessions.row(uid)
        if row is None:
            continue
        if row.stale and row.evicted_at is None:
            if not _waits_for_adapter(store, row, report):
                report.findings.append(f"{uid}: a sync was interrupted; run: session-memory sync")
        elif tuple(getattr(row, name) for name in BUCKETS) != store.usage.sums(row.id):
            report.findings.append(f"{uid}: its cost is not the sum of its usage")


def _waits_for_adapter(store: Store, row: CollectedSession, report: VerifyReport) -> bool:
    """Whether a session is stale because no adapter can read it."""
    try:
        for session_id in connected_sessions(store, row.id):
            for source in store.sources.read_by(session_id):
                for _ in stored_records(store, source):
                    pass
    except (AdapterUnusable, AdapterFailed) as failure:
        report.skipped.setdefault(row.flavor, str(failure))
        return True
    return False


def _check_sample(store: Store, sample: int, report: VerifyReport) -> None:
    """Rebuild some sessions, and those they share records with, in memory from the stored logs."""
    uids = [uid for uid in store.sessions.uids() if split_uid(uid)[0] not in report.skipped]
    selected = random.Random(len(uids)).sample(uids, min(sample, len(uids)))
    with open_store(":memory:") as scratch:
        expected: set[str] = set()
        for uid in selected:
            if uid not in expected:
                expected.update(_copy_with_relatives(store, uid, scratch))
        done = rebuild(scratch, now_ms(), lambda repo, cwd: None, lambda source: None)
        report.skipped |= done.skipped
        for uid in sorted(expected):
            if split_uid(uid)[0] in done.skipped:
                continue
            report.sessions += 1
            if list(_comparable(store, uid)) != list(_comparable(scratch, uid)):
                report.findings.append(
                    f"{uid}: its events differ from its log; run: session-memory store rebuild"
                )


def _check_words(store: Store, sample: int, report: VerifyReport) -> None:
    """Look up some events of some sessions in the word index by their texts."""
    if not store.index.is_complete:
        return
    sessions = {
        session_id: known
        for session_id, known in store.sessions.revisions().items()
        if split_uid(known[0])[0] not in report.skipped
    }
    for session_id in random.Random(len(sessions)).sample([*sessions], min(sample, len(sessions))):
        uid, _ = sessions[session_id]
        docs = list(islice(docs_of(store, session_id, uid), EVENTS_ASKED))
        if not all(_is_indexed(store, doc, text) for doc, text in docs):
            report.findings.append(
                f"{uid}: the index misses words; run: session-memory store reindex"
            )


def _is_indexed(store: Store, doc: int, text: str) -> bool:
    rarest = sorted(set(words_in(text[:LOOKED_AT])), key=len)[-WORDS_ASKED:]
    asked = WordQuery(tuple((QueryWord(word),) for word in rarest))
    return not rarest or store.index.find(asked, limit=1, before=doc + 1) == [doc]


def _copy_with_relatives(store: Store, uid: str, scratch: Store) -> list[str]:
    """Copy the logs of a session and its relatives to ``scratch``. Returns the uids to compare."""
    row = store.sessions.row(uid)
    if row is None:
        return []
    cluster = connected_sessions(store, row.id)
    if _is_partly_evicted(store, cluster):
        return []
    tables = [source for session in cluster for source in store.sources.read_by(session)]
    if any(is_reordered(store, source) for source in tables if is_table(source)):
        # The rows were reordered since they were read. The next sync derives the session again.
        return []
    uids = []
    for session_id in cluster:
        member = store.sessions.row_by_id(session_id)
        uids.append(member.uid)
        for source_id in store.sessions.source_ids(session_id):
            _adopt(store, source_id, scratch)
        for relative in _relatives(store, member):
            for source_id in store.sessions.source_ids(relative.id):
                _adopt(store, source_id, scratch)
    return uids


def _is_partly_evicted(store: Store, cluster: list[int]) -> bool:
    """Whether raw that is needed to derive a session is evicted, so it cannot be compared."""
    rows = [store.sessions.row_by_id(session_id) for session_id in cluster]
    kin = [relative for row in rows for relative in _relatives(store, row)]
    return any(row.evicted_at is not None for row in (*rows, *kin))


def _adopt(store: Store, source_id: int, scratch: Store) -> None:
    """Copy the bytes of a source. The rows of a live session are copied as lines."""
    row = scratch.adopt_source(store, source_id)
    if row.role != TABLE or row.kept:
        return
    with opened_table(store, row, 0) as lines, scratch.transaction():
        while piece := lines.read(PACK_BYTES):
            packs = [packed(piece, row.kept, compressor())]
            scratch.raw.replace_from(row.id, row.kept, packs, False)
            row.kept += len(piece)
        scratch.sources.save(row)


def _relatives(store: Store, row: CollectedSession) -> Iterator[CollectedSession]:
    """The sessions whose logs contribute to a session.

    Its parents tell its call and depth. The usage of its subagents may be part of its turns. What
    it reports does not count if another session logged it.
    """
    named = {uid for uid, _ in store.sessions.links_to(row.uid)}
    loggers = store.usage.loggers_of_reports(row.id)
    named |= {store.sessions.row_by_id(session_id).uid for session_id in loggers}
    above, seen = row.parent_uid, {row.uid}
    while above is not None and above not in seen:
        seen.add(above)
        parent = store.sessions.row(above)
        above = parent.parent_uid if parent else None
    for uid in sorted((seen | named | set(store.sessions.subagents(row.uid))) - {row.uid}):
        relative = store.sessions.row(uid)
        if relative is not None:
            yield relative


def _comparable(store: Store, uid: str) -> Iterator[object]:
    for part in session_parts(store, uid):
        if part[0] == "session":
            # These come from discovery and configuration, not from the stored logs.
            part = ["session", {k: v for k, v in part[1].items() if k not in ("host", "domain")}]
        yield part
