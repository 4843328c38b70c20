"""What a session without a title could be called by: its first words, files and answers."""

from collections.abc import Iterable
from typing import NamedTuple

from session_memory.store.database import Database

# A session may begin with notices of its agent.
MOST_BEGINNINGS = 20
_SESSIONS = "select id, uid, title, relation, cwd from sessions where uid in ({keys})"
_KIND = "(select id from names where name = :{name})"
_BEGINNINGS = f"""
    select n.name, e.summary from events e join names n on n.id = e.native_kind
    where e.session_id = :session and e.summary <> ''
        and e.role = {_KIND.format(name="role")} order by e.seq limit {MOST_BEGINNINGS}
"""
_EDITED = f"""
    select path from events where session_id = :session and path is not null
        and kind = {_KIND.format(name="kind")} order by seq limit 1
"""
_ANSWERED = f"""
    select summary from events where session_id = :session and summary <> ''
        and kind = {_KIND.format(name="kind")} order by seq limit 1
"""


class TitleRow(NamedTuple):
    id: int
    uid: str
    title: str | None
    relation: str | None
    cwd: str | None


class SessionTitles:
    def __init__(self, db: Database) -> None:
        self._db = db

    def rows(self, uids: Iterable[str]) -> list[TitleRow]:
        return [TitleRow(*row) for row in self._db.matching(_SESSIONS, sorted(set(uids)))]

    def beginnings(self, session_id: int) -> list[tuple[str, str]]:
        """``(native kind, summary)`` of the first events with the role of the user."""
        rows = self._db.all(_BEGINNINGS, {"session": session_id, "role": "user"})
        return [(row[0], row[1]) for row in rows]

    def first_edit(self, session_id: int) -> str | None:
        """The path of the first file that was changed."""
        path: str | None = self._db.value(_EDITED, {"session": session_id, "kind": "edit"})
        return path

    def first_answer(self, session_id: int) -> str | None:
        given = {"session": session_id, "kind": "assistant_msg"}
        summary: str | None = self._db.value(_ANSWERED, given)
        return summary
