"""The last day with a session, which a page names if its period has no session."""

from datetime import date

from session_memory.core.schema import Session
from session_memory.store import Store
from session_memory.store.session_pages import SessionConditions, SessionPages
from session_memory.views.figures import local


def last_session(store: Store) -> Session | None:
    """Return the session that ended last; None if no session has an end."""
    found = SessionPages(store.db).newest_after(SessionConditions(), None, 1)
    return found[0] if found and found[0].ended_at else None


def last_day(store: Store) -> date | None:
    """Return the local day on which the last session ended."""
    found = last_session(store)
    return None if found is None else date.fromisoformat(local(found.ended_at, "%Y-%m-%d"))
