"""Read evicted sessions, whose logs were moved to the archive, or say that they are missing."""

import msgspec

from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.derive.archived import readable_store
from session_memory.search import Filters
from session_memory.store import Store
from session_memory.store.hits import Hits
from session_memory.views.figures import plural

RESTORE = "session-memory restore --all"


class MissingEvents(msgspec.Struct, frozen=True):
    """Why the events of a session cannot be shown, and what to do."""

    kind: str
    message: str
    hint: str | None = None


def readable_events(store: Store, uid: str) -> tuple[Store, MissingEvents | None]:
    """Return the store to read a session's events from, and if they are missing, why."""
    try:
        return readable_store(store, uid), None
    except (ArchiveError, SessionEvicted) as error:
        return store, MissingEvents(error.kind, str(error), error.hint)


def count_evicted(store: Store, filters: Filters) -> int:
    """Count the evicted sessions that could have events that the filters admit."""
    found = Hits(store.db, store.names).evicted()
    return sum(filters.may_hold_for_evicted(session) for session in found)


def left_out_sentence(evicted: int) -> str:
    """Return a sentence which says how many evicted sessions an answer does not include."""
    are = "is" if evicted == 1 else "are"
    count = plural(evicted, "session")
    return f"{count} {are} evicted and not included. Bring them back: {RESTORE}"


def partly_sentence(evicted: int, what: str) -> str:
    """Return a sentence which says that only a part of each evicted session was used.

    ``what`` names the part: ``only the titles were searched``.
    """
    count = plural(evicted, "evicted session")
    return f"Of {count} {what}. Bring them back: {RESTORE}"
