"""The agent's own log of a session replaces the records of schema version 1 of that session.

The log has more of the session. So the session is derived from the log alone, even if the records
of version 1 were collected first. These records stay in the stored logs.
"""

from session_memory.core.first_schema import ENDING
from session_memory.core.roles import FIRST_LOGS
from session_memory.derive.facts import REPOSITORY_WRITER, drop_facts
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


def must_leave_out(store: Store, row: CollectedSession, source: SourceRow) -> bool:
    """Whether ``source`` has records of version 1 that must not be added to a session, because the
    session has a log of its agent."""
    if not row.id or not _is_first(source):
        return False
    return any(
        one.role in FIRST_LOGS and not _is_first(one) for one in store.sources.read_by(row.id)
    )


def replace_first(store: Store, row: CollectedSession, source: SourceRow) -> None:
    """Detach records of version 1 from a session, if ``source`` is a log of its agent.

    If there were some, the session is marked stale.
    """
    if not row.id or source.role not in FIRST_LOGS or _is_first(source):
        return
    if store.sources.unlink_first(row.id):
        drop_facts(row, REPOSITORY_WRITER)
        row.stale = 1


def _is_first(source: SourceRow) -> bool:
    return source.path.endswith(ENDING)
