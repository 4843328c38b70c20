"""Make the rows that an analysis stores for a session: its digest, errors, signals and terms.

Nothing is written here, so a worker process can make the rows as well.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import NamedTuple

import msgspec

from session_memory.core.errors import SessionMemoryError, StoreDamaged
from session_memory.core.schema import Session
from session_memory.core.text import exception_text, one_line
from session_memory.core.time import parse_time
from session_memory.derive.agents import about
from session_memory.derive.bodies import Bodies
from session_memory.learn.detect import counters, signals_in
from session_memory.learn.digest import Digest, SessionCost, encoded
from session_memory.learn.digest.session import ReadSession, ResponseUsage, digest_events
from session_memory.learn.digest.texts import Texts
from session_memory.learn.digest.wishes import MOST_WISHES, wishes
from session_memory.learn.signal import Signal
from session_memory.learn.version import analysis_version
from session_memory.pricing import Amount, session_amounts
from session_memory.store.brief_events import brief_events
from session_memory.store.digests import (
    DigestRow,
    Digests,
    ErrorRow,
    SignalRow,
    UnanalyzedSession,
    packed_body,
)
from session_memory.store.recall import SessionTerms, session_terms
from session_memory.store.store import Store

SHOWN = 200
# At most one worker process is started per this many events, because starting one takes as long as
# analyzing a few thousand events.
EVENTS_PER_WORKER = 8_000


class SessionRows(NamedTuple):
    """All that an analysis stores for one session.

    ``evidence`` are the events of the outcome, as JSON. ``terms`` are the search terms.
    ``asked_by`` is the session that started a subagent.
    """

    digest: DigestRow
    errors: list[ErrorRow]
    signals: list[SignalRow]
    evidence: str
    events: int
    terms: SessionTerms
    asked_by: str | None


class SessionReading:
    """Reads the sessions of an analysis in this process; `ParallelAnalysis` uses workers."""

    def __init__(self, store: Store, prices: str) -> None:
        self.store, self.prices = store, prices

    def started(self) -> AbstractContextManager[object]:
        return nullcontext()

    def rows(
        self, batch: list[UnanalyzedSession], failed: dict[str, str]
    ) -> Iterator[tuple[int, SessionRows]]:
        """Yield what `rows_of_sessions` yields for the batch. Call it with the batches in order."""
        return rows_of_sessions(self.store, batch, self.prices, failed)


def rows_of_sessions(
    store: Store, some: list[UnanalyzedSession], prices: str, failed: dict[str, str]
) -> Iterator[tuple[int, SessionRows]]:
    """Yield for each session of the list ``some`` its index in the list, and the rows to store.

    A session that cannot be read is added to ``failed``, with the reason. An evicted or forgotten
    session is skipped.
    """
    amounts = session_amounts(store, [unread.uid for unread in some])
    for place, unread in enumerate(some):
        with store.db.snapshot():
            session = store.sessions.get(unread.uid)
            if session is None or session.evicted_at is not None:
                # An evicted session cannot be read, so its digest stays as it is.
                continue
            try:
                amount = amounts[unread.uid]
                if session.revision != unread.revision:
                    # The session has grown since its cost was computed, so compute it again.
                    amount = session_amounts(store, [unread.uid])[unread.uid]
                read = read_session(store, unread.id, session, amount)
                unread = msgspec.structs.replace(unread, revision=session.revision)
                rows = _rows(unread, read, prices)
            except Exception as error:
                if isinstance(error, SessionMemoryError) and not isinstance(error, StoreDamaged):
                    # The error is about the store, so no other session can be read either.
                    raise
                # One session that cannot be read must not stop the analysis of the others.
                failed[unread.uid] = exception_text(error)
                continue
        yield place, rows


def read_session(store: Store, session_id: int, session: Session, amount: Amount) -> ReadSession:
    """Make the digest and the search terms of a session from its events. Nothing is written.

    ``amount`` is what the session cost.
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
    return digest_events(session, events, Texts(Bodies(store)), used, cost, counters())


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


def _rows(unread: UnanalyzedSession, read: ReadSession, prices: str) -> SessionRows:
    digest = read.digest
    return SessionRows(
        _row(unread, digest, prices),
        list(_errors(digest)),
        [_signal(place, signal) for place, signal in enumerate(signals_in(digest))],
        msgspec.json.encode(digest.outcome.evidence).decode(),
        digest.events,
        session_terms(read.terms),
        asked_by(digest),
    )


def asked_by(digest: Digest) -> str | None:
    """Return the uid of the session that started this one; None if it is no subagent."""
    return digest.parent_uid if digest.relation == "subagent" else None


def _row(unread: UnanalyzedSession, digest: Digest, prices: str) -> DigestRow:
    first = digest.first_request.event_uid if digest.first_request else ""
    asked = wishes(_words_of_people(digest), (file.path for file in digest.files), first)
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


def _words_of_people(digest: Digest) -> Iterator[tuple[str, str]]:
    """Yield ``(event_uid, text)`` of what a person wrote: prompts, and reasons for refusals."""
    yield from ((prompt.event_uid, prompt.text) for prompt in digest.prompts)
    if follows := about(digest.flavor).reason_follows:
        for one in digest.interventions:
            _, is_there, reason = one.text.partition(follows)
            if is_there:
                yield one.event_uid, reason.strip()


def _errors(digest: Digest) -> Iterator[ErrorRow]:
    for error in digest.error_snippets:
        # Patterns report what helped, so guesses are left out.
        how = error.resolution
        how = None if how is None or how.is_guess else how
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
