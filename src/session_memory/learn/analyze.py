"""Analysis: make the digests and signals of the sessions that need one, and of no others.

A session and its revision are read in one snapshot, and the digest is stored with that revision.
A session that grows meanwhile is analyzed again next time and cannot be evicted before.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import msgspec

from session_memory.core.errors import AnalysisFailed, SessionMemoryError, StoreDamaged
from session_memory.core.garbage import collector_off
from session_memory.core.schema import Session
from session_memory.core.text import exception_text, one_line
from session_memory.core.time import now_ms, parse_time
from session_memory.derive.agents import about
from session_memory.derive.bodies import Bodies
from session_memory.learn.detect import signals_in
from session_memory.learn.digest import Digest, SessionCost, encoded
from session_memory.learn.digest.recall import recall_terms
from session_memory.learn.digest.session import ReadSession, ResponseUsage, digest_events
from session_memory.learn.digest.texts import Texts
from session_memory.learn.digest.wishes import MOST_WISHES, wishes
from session_memory.learn.digests import digest_of
from session_memory.learn.signal import Signal
from session_memory.learn.version import analysis_version
from session_memory.pricing import Amount, session_amounts
from session_memory.pricing.own_prices import own_prices
from session_memory.pricing.table import price_table
from session_memory.store.brief_events import brief_events
from session_memory.store.digests import (
    DigestRow,
    Digests,
    ErrorRow,
    SignalRow,
    UnanalyzedSession,
    packed_body,
)
from session_memory.store.pieces import write_in_pieces
from session_memory.store.recall import Recall, SessionTerms, session_terms
from session_memory.store.store import Store

BATCH = 100
WRITTEN = BATCH // 2
SHOWN = 200


class Analyzed(msgspec.Struct, kw_only=True):
    """The result of an analysis.

    ``analyzed`` sessions were read and ``unchanged`` sessions were skipped. The other counts are
    about the analyzed sessions.
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
) -> Analyzed:
    """Analyze the sessions whose digest is missing or out of date; with ``uids``, those sessions.

    A digest is out of date if the session, the prices or the analysis code changed. ``on_begin``
    is called with the number of sessions and events to read, ``on_session`` with the number of
    events of each session that was read. ``keep_going`` is asked after each session: if it returns
    False, what was read is stored, and the other sessions wait for the next analysis. If some
    sessions cannot be read, `AnalysisFailed` is raised after all others were analyzed.
    """
    with store.db.operation_lock(shared=True):
        return _analyze(store, uids, now, on_session, on_begin, keep_going)


def _analyze(
    store: Store,
    uids: Sequence[str] | None,
    now: int | None,
    on_session: Callable[[int], None],
    on_begin: Callable[[int, int], None],
    keep_going: Callable[[], bool],
) -> Analyzed:
    digests, prices, version = Digests(store.db), prices_id(store), analysis_version()
    waiting = digests.unanalyzed(version, prices) if uids is None else digests.readable(uids)
    on_begin(len(waiting), sum(unread.events for unread in waiting))
    report = Analyzed(unchanged=store.sessions.count() - len(waiting) if uids is None else 0)
    is_cut, failed = False, dict[str, str]()
    for batch in _batches(waiting):
        # Between two batches, so that cycles cannot fill the memory.
        with collector_off():
            rows = []
            for row in _read(store, batch, prices, failed, on_session):
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


def _index_evicted(store: Store) -> None:
    """Make the terms of evicted sessions that an older release analyzed, from their digests."""
    recall = Recall(store.db)
    for uid in recall.absent_evicted():
        if (digest := digest_of(store, uid)) is not None:
            with recall.saving(store.transaction()):
                recall.save(uid, _asked_by(digest), session_terms(recall_terms(digest)))


def _asked_by(digest: Digest) -> str | None:
    return digest.parent_uid if digest.relation == "subagent" else None


def prices_id(store: Store) -> str:
    """A hash of all prices in use: the price table and the user's own prices."""
    own = msgspec.json.encode(dict(own_prices(store)), order="sorted")
    prices = f"{price_table().digest}\n{own.decode()}".encode()
    return blake2b(prices, digest_size=8).hexdigest()


def _batches(waiting: list[UnanalyzedSession]) -> Iterator[list[UnanalyzedSession]]:
    for start in range(0, len(waiting), BATCH):
        yield waiting[start : start + BATCH]


def _read(
    store: Store,
    batch: list[UnanalyzedSession],
    prices: str,
    failed: dict[str, str],
    on_session: Callable[[int], None],
) -> Iterator["_Rows"]:
    """What is to be stored of each session. One that cannot be read is added to ``failed``."""
    amounts = session_amounts(store, [unread.uid for unread in batch])
    for unread in batch:
        with store.db.snapshot():
            session = store.sessions.get(unread.uid)
            if session is None or session.evicted_at is not None:
                # An evicted session cannot be read, so its digest stays as it is.
                continue
            try:
                amount = amounts[unread.uid]
                if session.revision != unread.revision:
                    # It has grown since it was listed, so the amount may be that of its beginning.
                    amount = session_amounts(store, [unread.uid])[unread.uid]
                read = read_session(store, unread.id, session, amount)
                unread = msgspec.structs.replace(unread, revision=session.revision)
                rows = _rows(unread, read, prices)
            except Exception as error:
                if isinstance(error, SessionMemoryError) and not isinstance(error, StoreDamaged):
                    # The store was lost, so no other session can be read either.
                    raise
                # A session that we cannot read must not keep all others waiting.
                failed[unread.uid] = exception_text(error)
                continue
        on_session(unread.events)
        yield rows


def read_session(store: Store, session_id: int, session: Session, amount: Amount) -> ReadSession:
    """Make the digest and the terms of a session from what the store holds now.

    Nothing is written.
    """
    word = store.names.word
    used = ResponseUsage(
        [
            (seq, word(model) or "", context + output, context)
            for seq, model, context, output in Digests(store.db).used(session_id)
        ]
    )
    events = brief_events(store.db, store.names, session_id)
    cost = _cost(session, used, amount)
    return digest_events(session, events, Texts(Bodies(store)), used, cost)


def _cost(session: Session, used: ResponseUsage, amount: Amount) -> SessionCost:
    cost = session.cost
    return SessionCost(
        tokens=cost.input_tokens + cost.output_tokens + cost.cache_tokens,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cache_read_tokens=cost.cache_read_tokens,
        cache_write_tokens=cost.cache_write_tokens,
        reasoning_tokens=cost.reasoning_tokens,
        web_searches=cost.web_searches,
        turns=cost.turns,
        retries=cost.retries,
        wall_clock_ms=round(cost.wall_clock_s * 1000),
        microdollars=amount.microdollars,
        unpriced_tokens=amount.unpriced_tokens,
        models=used.models,
    )


class _Rows(NamedTuple):
    """What is stored of one digest."""

    digest: DigestRow
    errors: list[ErrorRow]
    signals: list[SignalRow]
    evidence: str
    events: int
    terms: SessionTerms
    asked_by: str | None


def _rows(unread: UnanalyzedSession, read: ReadSession, prices: str) -> _Rows:
    digest = read.digest
    return _Rows(
        _row(unread, digest, prices),
        list(_errors(digest)),
        [_signal(place, signal) for place, signal in enumerate(signals_in(digest))],
        msgspec.json.encode(digest.outcome.evidence).decode(),
        digest.events,
        session_terms(read.terms),
        _asked_by(digest),
    )


def _write(store: Store, analyzed: list[_Rows], now: int | None) -> None:
    digests, recall = Digests(store.db), Recall(store.db)

    def save(rows: _Rows) -> None:
        row, at = rows.digest, now_ms() if now is None else now
        known = digests.save(row, rows.errors, rows.signals, evidence=rows.evidence, now=at)
        if known:
            recall.save(row.session_uid, rows.asked_by, rows.terms)

    # The terms are written at the end of a piece, which the clock of the piece does not see.
    for start in range(0, len(analyzed), WRITTEN):
        some = analyzed[start : start + WRITTEN]
        write_in_pieces(lambda: recall.saving(store.transaction()), some, save)


def _count(report: Analyzed, rows: _Rows) -> None:
    outcome = rows.digest.outcome
    report.analyzed += 1
    report.events += rows.events
    report.errors += len(rows.errors)
    report.signals += len(rows.signals)
    report.outcomes[outcome] = report.outcomes.get(outcome, 0) + 1


def _row(unread: UnanalyzedSession, digest: Digest, prices: str) -> DigestRow:
    first = digest.first_request.event_uid if digest.first_request else ""
    asked = wishes(_said(digest), (file.path for file in digest.files), first)
    version = analysis_version()
    return DigestRow(
        session_uid=digest.session_uid,
        version=digest.version,
        revision=unread.revision,
        prices=prices,
        flavor=digest.flavor,
        repo=digest.repo,
        relation=digest.relation,
        outcome=digest.outcome.outcome,
        started_at=None if digest.started_at is None else parse_time(digest.started_at),
        ended_at=None if digest.ended_at is None else parse_time(digest.ended_at),
        tokens=digest.cost.tokens,
        microdollars=digest.cost.microdollars,
        unpriced_tokens=digest.cost.unpriced_tokens,
        basis=digest.basis,
        directives=msgspec.json.encode(list(islice(asked, MOST_WISHES))).decode(),
        analysis=version.code,
        analysis_release=version.release,
        body=packed_body(encoded(digest)),
    )


def _said(digest: Digest) -> Iterator[tuple[str, str]]:
    """The words of a person: prompts, and reasons for refusals."""
    yield from ((prompt.event_uid, prompt.text) for prompt in digest.prompts)
    if follows := about(digest.flavor).reason_follows:
        for one in digest.interventions:
            _, is_there, reason = one.text.partition(follows)
            if is_there:
                yield one.event_uid, reason.strip()


def _errors(digest: Digest) -> Iterator[ErrorRow]:
    for error in digest.error_snippets:
        how = error.resolution
        yield ErrorRow(
            session_uid=digest.session_uid,
            fingerprint=error.fingerprint,
            tool=error.tool,
            count=error.count,
            sample=error.sample,
            event_uid=error.event_uids[0],
            tokens=error.tokens,
            resolution=how.kind if how else None,
            resolved_by=one_line(how.text, SHOWN) if how else "",
        )


def _signal(place: int, signal: Signal) -> SignalRow:
    return SignalRow(
        session_uid=signal.session_uid,
        place=place,
        flavor=signal.flavor,
        repo=signal.repo,
        type=signal.type,
        polarity=signal.polarity,
        locus=signal.locus,
        magnitude=signal.magnitude,
        detail=signal.detail,
        tokens=signal.tokens,
        microdollars=signal.microdollars,
        basis=signal.basis,
        evidence=msgspec.json.encode(signal.evidence).decode(),
        at=None if signal.at is None else parse_time(signal.at),
    )
