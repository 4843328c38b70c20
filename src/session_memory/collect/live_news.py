"""Whether live sessions have new rows. No event of the file system reports them."""

from session_memory.collect.live_sessions import has_news
from session_memory.store.address import is_postgres
from session_memory.store.store import Store


class LiveNews:
    """Remembers the state in which it looked last: SQLite says whether anybody wrote since."""

    def __init__(self) -> None:
        self._seen: tuple[Store, object] | None = None

    def has_come(self, store: Store) -> bool:
        """Whether a live session was written to since the last sync.

        It may be asked only by somebody who then reads these sessions, or opens the store again.
        """
        if is_postgres(store.db.name):
            return has_news(store)
        # Each connection counts on its own. So the count says nothing about another store.
        now = (store, store.db.write_mark())
        if self._seen is not None and self._seen[0] is store and self._seen[1] == now[1]:
            return False
        self._seen = now
        return has_news(store)
