"""Find response ids that belong to different responses in different sessions.

A response counts for one session only. So if several rows with the same id count, they are
different responses.
"""

from session_memory.store.database import Database

# Not `exists`: SQLite makes a join of it and reads the rows of all sessions.
_IS_SHARED = """
    (
        select o.id from usage o where o.usage_key = u.usage_key and o.usage_id = u.usage_id
            and o.id <> u.id and o.owner_id is not null limit 1
    ) is not null
"""
_OWNERS = "select owner_id from usage where usage_key = :key and owner_id is not null limit :most"
_KEYS_OF = f"""
    select distinct u.usage_key from usage u where u.owner_id = :session and {_IS_SHARED}
"""
_FIRST_OF = f"""
    select u.usage_id, u.seq from usage u
    where u.owner_id = :session and u.session_id = :session and {_IS_SHARED}
    order by u.seq, u.usage_id limit 1
"""
_PLACE = """
    select source_id, place from events where session_id = :session and seq <= :seq
    order by seq desc limit 1
"""


class ResponseIds:
    """Questions about response ids. This class only reads."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def owners(self, key: int, most: int) -> list[int]:
        """Return the sessions for which responses with this `usage_key` count, at most ``most``."""
        return [row[0] for row in self._db.all(_OWNERS, {"key": key, "most": most})]

    def shared_by(self, session_id: int) -> list[int]:
        """The keys of the responses of a session whose id another response has as well."""
        return [row[0] for row in self._db.all(_KEYS_OF, {"session": session_id})]

    def first_shared_by(self, session_id: int) -> tuple[str, int, int] | None:
        """The first response of a session whose id another response has as well.

        Returns its id, and the source and the place of its event.
        """
        first = self._db.one(_FIRST_OF, {"session": session_id})
        if first is None:
            return None
        place = self._db.one(_PLACE, {"session": session_id, "seq": first[1]})
        return None if place is None else (first[0], place[0], place[1])
