"""Find texts that can stand for a missing title of a session: its first words, files and answers.

Every query is for many sessions at once, and reads one event of each.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from session_memory.store.database import Database

# A session may begin with notices of its agent.
MOST_BEGINNINGS = 20
_COLUMNS = """
    select s.id, s.uid, s.title, s.relation, s.cwd, s.git_branch, g.name from sessions s
    left join given_names g on g.session_uid = s.uid
"""
_NUMBER = "(select id from names where name = '{name}')"
# The events with a certain property, in their order: the first, the second, …
_NTH = """
    select f.id, n.name, e.{column} from (
        select s.id, (
            select x.seq from events x where x.session_id = s.id and {condition}
            order by x.seq limit 1 offset {place}
        ) as seq
        from sessions s where s.id in ({{keys}})
    ) f
    join events e on e.session_id = f.id and e.seq = f.seq
    left join names n on n.id = e.native_kind
"""
_USER = f"x.summary <> '' and x.role = {_NUMBER.format(name='user')} and x.native_kind is not null"
_EDITED = f"x.path is not null and x.kind = {_NUMBER.format(name='edit')}"
_ANSWERED = f"x.summary <> '' and x.kind = {_NUMBER.format(name='assistant_msg')}"


class TitleRow(NamedTuple):
    id: int
    uid: str
    title: str | None
    relation: str | None
    cwd: str | None
    git_branch: str | None
    given: str | None


class Beginning(NamedTuple):
    """An event near the start of a session."""

    session_id: int
    native_kind: str
    summary: str


class SessionTitles:
    def __init__(self, db: Database) -> None:
        self._db = db

    def rows(self, uids: Iterable[str]) -> list[TitleRow]:
        found = self._db.matching(f"{_COLUMNS} where s.uid in ({{keys}})", sorted(set(uids)))
        return [TitleRow(*row) for row in found]

    def every(self) -> Iterator[TitleRow]:
        """All sessions."""
        return (TitleRow(*row) for row in self._db.each(_COLUMNS))

    def beginnings(self, session_ids: Iterable[int], place: int) -> list[Beginning]:
        """For each session, event number ``place`` (from 0) of those with the role ``user``."""
        sql = _NTH.format(column="summary", condition=_USER, place=place)
        return [Beginning(*row) for row in self._db.matching(sql, sorted(session_ids))]

    def first_edits(self, session_ids: Iterable[int]) -> dict[int, str]:
        """The path of the first file that each session changed."""
        return self._first("path", _EDITED, session_ids)

    def first_answers(self, session_ids: Iterable[int]) -> dict[int, str]:
        return self._first("summary", _ANSWERED, session_ids)

    def _first(self, column: str, condition: str, session_ids: Iterable[int]) -> dict[int, str]:
        sql = _NTH.format(column=column, condition=condition, place=0)
        return {row[0]: row[2] for row in self._db.matching(sql, sorted(session_ids))}
