"""Whether new records can simply be appended to their session.

Nearly always they can: nobody has seen them, and they belong at the end. Otherwise the session is
derived again from the stored logs, so the result never depends on the order in which files arrive.
"""

from session_memory.adapters.base import Record
from session_memory.core.roles import DOCUMENT, TIMELINE
from session_memory.derive.facts import base_of
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow, reading_order
from session_memory.store.store import Store


class NeedsDerivation(Exception):
    """The records cannot be appended; never leaves the ingest.

    ``sessions`` are the other sessions that hold some of the records. ``may_be_fork`` says that a
    new session could be a plain fork of the one other session.
    """

    def __init__(self, sessions: set[int], *, may_be_fork: bool = False) -> None:
        super().__init__()
        self.sessions = sessions
        self.may_be_fork = may_be_fork


def check_order(
    store: Store, row: CollectedSession, source: SourceRow, records: list[Record]
) -> None:
    """Raise when another source of the session, which is read already, belongs after this one."""
    is_timeline = source.role == TIMELINE
    if not row.id or not any(_depends_on_order(record, is_timeline) for record in records):
        return
    others = [other for other in store.sessions.source_ids(row.id) if other != source.id]
    if not others:
        return
    logs = [store.sources.get(other) for other in others]
    here = reading_order(source)
    if any(log.role != DOCUMENT and reading_order(log) > here for log in logs):
        raise NeedsDerivation(set())


def _depends_on_order(record: Record, is_timeline: bool) -> bool:
    """Whether earlier records matter. Outcomes of a timeline need none: they name their calls."""
    return bool(
        record.events
        or record.usage is not None
        or record.continues
        or record.facts
        or record.link is not None
        or (record.outcomes and not is_timeline)
    )


def check_references(store: Store, row: CollectedSession, records: list[Record]) -> None:
    """Raise if its history refers to another session's records, or another's refers to these."""
    sessions = store.sessions
    base = base_of(row)
    if base is not None and not row.has_shared:
        origin = sessions.row(base[0])
        if origin is not None and origin.evicted_at is not None:
            # The evicted origin is needed again: the sync brings back what is stale.
            origin.stale = 1
            sessions.save(origin)
        if origin is not None:
            raise NeedsDerivation({origin.id})
    ordinals = [record.ordinal for record in records if record.ordinal is not None]
    if not ordinals:
        return
    bases = ((fork.id, base_of(fork)) for fork in sessions.forks_of(row.uid))
    forks = {fork for fork, base in bases if base is not None and min(ordinals) < base[1]}
    if forks:
        raise NeedsDerivation(forks)
