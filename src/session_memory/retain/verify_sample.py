"""Derive sessions again from the stored logs, and look their words up in the index."""

import random
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from session_memory.core.errors import StoreDamaged
from session_memory.core.ids import split_uid
from session_memory.core.index_words import words_in
from session_memory.core.roles import TABLE
from session_memory.core.time import now_ms
from session_memory.derive.connected import connected_sessions
from session_memory.derive.live_sources import is_reordered, is_table, opened_table
from session_memory.derive.rebuilding import rebuild
from session_memory.derive.reindex import docs_of
from session_memory.store.fingerprint import session_parts
from session_memory.store.memory_store import temporary_store
from session_memory.store.raw import PACK_BYTES, compressor, packed
from session_memory.store.session_links import links_to
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery

if TYPE_CHECKING:
    from session_memory.retain.verification import VerifyReport

# So many sessions are derived together in one temporary store in memory.
AT_ONCE = 20
# Limits of the look-ups in the index: events of a session, words of an event, and characters of a
# text that are split into words.
EVENTS_ASKED = 50
WORDS_ASKED = 4
LOOKED_AT = 20_000


def sample_of(store: Store, sample: int | None, report: "VerifyReport") -> list[str]:
    """Choose ``sample`` sessions at random, or all if it is None or there are not more."""
    uids = [uid for uid in store.sessions.uids() if split_uid(uid)[0] not in report.skipped]
    report.count("sessions", 0, len(uids))
    if sample is None or sample >= len(uids):
        return uids
    return sorted(random.SystemRandom().sample(uids, sample))


def check_sample(
    store: Store, report: "VerifyReport", on_session: Callable[[int, int], None]
) -> None:
    """Derive the sampled sessions again from the stored logs, and compare the events.

    Sessions that share records with them are derived and compared as well.
    """
    done: set[str] = set()
    for first in range(0, len(report.sampled), AT_ONCE):
        on_session(first, len(report.sampled))
        some = [uid for uid in report.sampled[first : first + AT_ONCE] if uid not in done]
        with temporary_store() as scratch:
            done |= _compare(store, some, scratch, report)
    on_session(len(report.sampled), len(report.sampled))
    report.sessions = len(done)
    report.count("sessions", len(done), 0)


def _compare(store: Store, uids: list[str], scratch: Store, report: "VerifyReport") -> set[str]:
    """Derive sessions in the empty store ``scratch``, compare them, and return their uids."""
    expected: set[str] = set()
    for uid in uids:
        if uid not in expected:
            try:
                expected.update(_copy_with_relatives(store, uid, scratch))
            except StoreDamaged as error:
                report.find(f"{uid}: it cannot be derived again: {error}")
    rebuilt = rebuild(scratch, now_ms(), lambda repo, cwd: None, lambda source: None)
    report.skipped |= rebuilt.skipped
    compared = {uid for uid in expected if split_uid(uid)[0] not in rebuilt.skipped}
    for uid in sorted(compared):
        with report.past_damage(uid):
            # The parts are compared one by one, because a session may have a million events.
            both = zip_longest(_comparable(store, uid), _comparable(scratch, uid))
            if any(one != other for one, other in both):
                report.find(
                    f"{uid}: its events differ from its log; run: session-memory store rebuild"
                )
    return compared


def check_words(store: Store, report: "VerifyReport") -> None:
    """Look up the first events of the sampled sessions in the word index by their texts."""
    if not store.index.is_complete:
        return
    sampled = set(report.sampled)
    for session_id, (uid, _) in store.sessions.revisions().items():
        row = store.sessions.row_by_id(session_id)
        report.count("indexed_events", 0, row.event_count)
        if uid not in sampled or split_uid(uid)[0] in report.skipped:
            continue
        with report.past_damage(uid):
            docs = list(islice(docs_of(store, session_id, uid), EVENTS_ASKED))
            report.count("indexed_events", len(docs), 0)
            try:
                is_indexed = all(_is_indexed(store, doc, text) for doc, text in docs)
            except StoreDamaged:
                report.find("the word index cannot be read; run: session-memory store reindex")
                return
            if not is_indexed:
                report.find(f"{uid}: the index misses words; run: session-memory store reindex")


def _is_indexed(store: Store, doc: int, text: str) -> bool:
    words = words_in(text[:LOOKED_AT])
    if len(text) > LOOKED_AT:
        # The text was cut here, maybe within its last word. The index has that word uncut.
        words = words[:-1]
    rarest = sorted(set(words), key=len)[-WORDS_ASKED:]
    asked = WordQuery(tuple((QueryWord(word),) for word in rarest))
    return not rarest or store.index.find(asked, limit=1, before=doc + 1) == [doc]


def _copy_with_relatives(store: Store, uid: str, scratch: Store) -> list[str]:
    """Copy the logs of a session and its relatives to ``scratch``. Returns the uids to compare."""
    row = store.sessions.row(uid)
    if row is None:
        return []
    cluster = connected_sessions(store, row.id)
    if not _is_comparable(store, cluster):
        return []
    tables = [source for session in cluster for source in store.sources.read_by(session)]
    if any(is_reordered(store, source) for source in tables if is_table(source)):
        # A row was inserted before rows that were already read, so the stored events are outdated.
        # Do not compare them: the next sync derives the session again.
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


def _is_comparable(store: Store, cluster: list[int]) -> bool:
    """Whether sessions can be derived again and compared: none is evicted or stale.

    The log of an evicted session is not stored. A stale session is a finding of its own: a sync was
    interrupted, and the next one derives it.
    """
    rows = [store.sessions.row_by_id(session_id) for session_id in cluster]
    kin = [relative for row in rows for relative in _relatives(store, row)]
    return not any(row.stale or row.evicted_at is not None for row in (*rows, *kin))


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
    """Yield the other sessions whose logs decide what deriving a session gives.

    The logs of its parents name the call that started it, and its depth. The usage of its
    subagents may be part of its turns. A response that was only reported does not count for it if
    another session logged the response.
    """
    named = {uid for uid, _ in links_to(store.db, row.uid)}
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
            values = {k: v for k, v in part[1].items() if k not in ("host", "domain")}
            row = store.sessions.row(uid)
            if row is not None:
                # A person may have given the session another title and task than its logs name.
                values |= {"title": row.title, "task_ref": row.task_ref}
            part = ["session", values]
        yield part
