"""Names that people gave to sessions. They win over titles in logs, and a rebuild keeps them."""

from collections.abc import Iterable

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import escaped, short_repr
from session_memory.store.database import Database
from session_memory.store.index import WordIndex

LONGEST = 200
_UNSET = "delete from given_names where session_uid = :uid"
_SET = "insert into given_names (session_uid, name, set_at) values (:uid, :name, :now)"
_OF = "select session_uid, name from given_names where session_uid in ({keys})"
_EVERY = "select session_uid, name from given_names order by session_uid"
_SESSION = "select id, title from sessions where uid = :uid"
# The digest of a session and its terms for `how` and `similar` contain its name, so the session
# has to be analyzed again. The digest of an evicted session cannot be made again.
_CHANGED = "update sessions set revision = revision + 1 where id = :id and evicted_at is null"


class GivenNames:
    def __init__(self, db: Database, index: WordIndex) -> None:
        self._db = db
        self._index = index

    def set(self, uid: str, name: str | None, now: int) -> None:
        """Name a session of the store, for lists and for the search. None removes the name.

        The session then waits for analysis.
        """
        self._db.execute(_UNSET, {"uid": uid})
        found = self._db.one(_SESSION, {"uid": uid})
        if found is None:
            return
        if name is not None:
            self._db.execute(_SET, {"uid": uid, "name": escaped(name), "now": now})
        self._db.execute(_CHANGED, {"id": found[0]})
        self._index.set_title(found[0], found[1] if name is None else escaped(name))

    def of(self, uids: Iterable[str]) -> dict[str, str]:
        return {row[0]: row[1] for row in self._db.matching(_OF, sorted(set(uids)))}

    def every(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self._db.all(_EVERY)}


def is_name(name: str) -> bool:
    return len(name) <= LONGEST and (not name or name.isprintable())


def checked_name(name: str | None) -> str | None:
    """The name without blanks around it; None if it is empty.

    Raises `InvalidRecord` if it is longer than `LONGEST` or not one printable line.
    """
    if name is None:
        return None
    name = name.strip()
    if not is_name(name):
        hint = f"Give one line of at most {LONGEST} characters."
        raise InvalidRecord(f"{short_repr(name)} is no name of a session", hint, field="name")
    return name or None
