"""Check whether new records can simply be appended to their session.

Nearly always they can: no session has them yet, and they belong at the end. Otherwise the session
is derived again from the stored logs, so the result never depends on the order in which files
arrive.
"""

import json

from session_memory.core.roles import DOCUMENT, REWRITTEN
from session_memory.derive.facts import base_of
from session_memory.derive.record_needs import Needs
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow, reading_order
from session_memory.store.store import Store


class NeedsDerivation(Exception):
    """New records cannot be appended, so their session must be derived again. `Ingest` catches it.

    ``sessions`` are the other sessions that hold some of the records. ``may_be_fork`` says that a
    new session could be a plain fork of the one other session.
    """

    def __init__(self, sessions: set[int], *, may_be_fork: bool = False) -> None:
        super().__init__()
        self.sessions = sessions
        self.may_be_fork = may_be_fork


def check_order(store: Store, row: CollectedSession, source: SourceRow, needs: Needs) -> None:
    """Raise `NeedsDerivation` if a log that was read before belongs after this one.

    A log that gives nothing does not matter, if ``source`` is one of the session's logs already.
    """
    if not row.id or not needs.order:
        return
    known = store.sessions.source_ids(row.id)
    logs = [store.sources.get(other) for other in known if other != source.id]
    here = reading_order(source)
    later = [log for log in logs if log.role != DOCUMENT and reading_order(log) > here]
    if not all(source.id in known and _gives_nothing(log) for log in later):
        raise NeedsDerivation(set())


def _gives_nothing(log: SourceRow) -> bool:
    """Whether a log is a document whose lines are all bookkeeping, such as a copy of what the model
    gets. Such a log gives no events, so other logs need not be read before it."""
    return log.role == REWRITTEN and log.lines == sum(json.loads(log.bookkeeping).values())


def check_references(store: Store, row: CollectedSession, needs: Needs) -> None:
    """Raise `NeedsDerivation` if a log refers to another session's records and does not repeat
    them.

    Either this session begins with the records of another session, or another begins with these.
    """
    sessions = store.sessions
    base = base_of(row)
    if base is not None and not row.has_shared:
        origin = sessions.row(base[0])
        if origin is not None and origin.evicted_at is not None:
            # The evicted origin is needed. It is marked stale, because the sync brings stale
            # evicted sessions back.
            origin.stale = 1
            sessions.save(origin)
        if origin is not None:
            raise NeedsDerivation({origin.id})
    first = needs.ordinal
    if first is None:
        return
    bases = ((fork.id, base_of(fork)) for fork in sessions.forks_of(row.uid))
    forks = {fork for fork, base in bases if base is not None and first < base[1]}
    if forks:
        raise NeedsDerivation(forks)
