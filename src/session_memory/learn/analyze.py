"""Analyze sessions: store a digest (a summary) and the signals of each session.

By default, only sessions without a digest or with an outdated digest are analyzed. The digest is
stored with the revision of the session that was read. A session that grows during its analysis has
a newer revision: the next analysis reads it again, and it cannot be evicted before that.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b

import msgspec

from session_memory.core.errors import AnalysisFailed
from session_memory.core.garbage import collector_off
from session_memory.core.time import now_ms
from session_memory.learn.digest.recall import recall_terms
from session_memory.learn.digests import digest_of
from session_memory.learn.session_rows import (
    EVENTS_PER_WORKER,
    SessionReading,
    SessionRows,
    asked_by,
)
from session_memory.learn.version import analysis_version
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.table import price_table
from session_memory.store.digests import Digests, UnanalyzedSession
from session_memory.store.pieces import write_in_pieces
from session_memory.store.recall import Recall, session_terms
from session_memory.store.store import Store

BATCH = 100
WRITTEN = BATCH // 2


class Analyzed(msgspec.Struct, kw_only=True):
    """How many sessions an analysis read (``analyzed``) and did not have to read (``unchanged``).

    ``unchanged`` is 0 if the sessions to analyze were named. ``events``, ``errors`` and ``signals``
    are those of the analyzed sessions, ``outcomes`` counts these sessions by outcome.
    """

    analyzed: int = 0
    unchanged: int = 0
    events: int = 0
    errors: int = 0
    signals: int = 0
    outcomes: dict[str, int] = {}


def analyze(
    store: Store,
    uids: Sequence[str] | None = None,
    now: int | None = None,
    on_session: Callable[[int], None] = lambda events: None,
    on_begin: Callable[[int, int], None] = lambda sessions, events: None,
    keep_going: Callable[[], bool] = lambda: True,
    jobs: int = 1,
) -> Analyzed:
    """Analyze the sessions whose digest is missing or out of date.

    With ``uids``, these sessions are analyzed in any case, except evicted ones. A digest is out of
    date if the session, the prices or the analysis code changed. ``now`` is stored as the time of
    the analysis. ``on_begin`` is called once with the number of sessions and events to read,
    ``on_session`` after each session with its number of events. When ``keep_going`` returns False,
    the sessions read so far are stored, and the others wait for the next analysis. If some sessions
    cannot be read, `AnalysisFailed` is raised after all others were analyzed. ``jobs`` is the
    number of worker processes that read when there are many events; 0 means one for each processor.
    The stored result does not depend on ``jobs``.
    """
    with store.db.operation_lock(shared=True):
        return _analyze(store, uids, now, on_session, on_begin, keep_going, jobs)


def _analyze(
    store: Store,
    uids: Sequence[str] | None,
    now: int | None,
    on_session: Callable[[int], None],
    on_begin: Callable[[int, int], None],
    keep_going: Callable[[], bool],
    jobs: int,
) -> Analyzed:
    digests, prices, version = Digests(store.db), prices_id(store), analysis_version()
    waiting = digests.unanalyzed(version, prices) if uids is None else digests.readable(uids)
    on_begin(len(waiting), sum(unread.events for unread in waiting))
    report = Analyzed(unchanged=store.sessions.count() - len(waiting) if uids is None else 0)
    is_cut, failed = False, dict[str, str]()
    batches = list(_batches(waiting))
    reading = _reading(store, batches, prices, jobs)
    with reading.started():
        for batch in batches:
            # The garbage collector runs between two batches, so that cycles cannot fill the memory.
            with collector_off():
                rows = []
                for place, row in reading.rows(batch, failed):
                    on_session(batch[place].events)
                    rows.append(row)
                    if is_cut := not keep_going():
                        break
                _write(store, rows, now)
            for row in rows:
                _count(report, row)
            if is_cut:
                break
    if uids is None and not is_cut:
        _index_evicted(store)
    if failed:
        raise AnalysisFailed(failed)
    return report


def _reading(
    store: Store, batches: list[list[UnanalyzedSession]], prices: str, jobs: int
) -> SessionReading:
    events = sum(unread.events for batch in batches for unread in batch)
    if jobs == 1 or events < 2 * EVENTS_PER_WORKER:
        return SessionReading(store, prices)
    # Imported here, because few analyses have so many events to read.
    from session_memory.learn.parallel_analysis import ParallelAnalysis  # noqa: PLC0415

    return ParallelAnalysis(store, batches, prices, jobs)


def _index_evicted(store: Store) -> None:
    """Store the search terms of evicted sessions that an older release analyzed without them.

    The events of an evicted session are in the archive, so the terms come from its digest.
    """
    recall = Recall(store.db)
    for uid in recall.absent_evicted():
        if (digest := digest_of(store, uid)) is not None:
            with recall.saving(store.transaction()):
                recall.save(uid, asked_by(digest), session_terms(recall_terms(digest)))


def prices_id(store: Store) -> str:
    """Return a hash of all prices in use: the price table and the user's own prices."""
    own = msgspec.json.encode(dict(own_prices(store)), order="sorted")
    prices = f"{price_table().digest}\n{own.decode()}".encode()
    return blake2b(prices, digest_size=8).hexdigest()


def _batches(waiting: list[UnanalyzedSession]) -> Iterator[list[UnanalyzedSession]]:
    for start in range(0, len(waiting), BATCH):
        yield waiting[start : start + BATCH]


def _write(store: Store, analyzed: list[SessionRows], now: int | None) -> None:
    digests, recall = Digests(store.db), Recall(store.db)

    def save(rows: SessionRows) -> None:
        row, at = rows.digest, now_ms() if now is None else now
        known = digests.save(row, rows.errors, rows.signals, evidence=rows.evidence, now=at)
        if known:
            recall.save(row.session_uid, rows.asked_by, rows.terms)

    # `write_in_pieces` limits the time of a transaction, but not the time that `recall.saving`
    # takes at its end to write the terms. So at most `WRITTEN` sessions are passed at once.
    for start in range(0, len(analyzed), WRITTEN):
        some = analyzed[start : start + WRITTEN]
        write_in_pieces(lambda: recall.saving(store.transaction()), some, save)


def _count(report: Analyzed, rows: SessionRows) -> None:
    outcome = rows.digest.outcome
    report.analyzed += 1
    report.events += rows.events
    report.errors += len(rows.errors)
    report.signals += len(rows.signals)
    report.outcomes[outcome] = report.outcomes.get(outcome, 0) + 1
