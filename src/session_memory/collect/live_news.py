"""Tell a watch whether live sessions have new rows: no event of the file system reports them."""

from session_memory.collect.live_sessions import has_news
from session_memory.store.address import is_postgres
from session_memory.store.store import Store


class LiveNews:
    """Remembers the state of the last check, to ask less often. In SQLite a number tells whether
    anybody wrote since."""

    def __init__(self) -> None:
        self._seen: tuple[Store, object] | None = None

    def has_come(self, store: Store) -> bool:
        """Whether a live session was written to since the last sync.

        After True the caller must read these sessions, or open the store again. In SQLite, the next
        call returns False if nobody has written again.
        """
        if is_postgres(store.db.name):
            return has_news(store)
        # Each connection counts writes by itself, so a count is valid for this `Store` only.
        now = (store, store.db.write_mark())
        if self._seen is not None and self._seen[0] is store and self._seen[1] == now[1]:
            return False
        self._seen = now
        return has_news(store)
