"""Problems: bad input that is recorded with its place and reason instead of being ignored."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from session_memory.core.text import escaped
from session_memory.core.time import format_time
from session_memory.store.database import Database

UNREADABLE = "unreadable"
NO_END = 1 << 62


class Problem(NamedTuple):
    host: str
    path: str
    place: int
    length: int
    reason: str
    detail: str
    noticed_at: str


_COLUMNS = ("source_id", "place", "length", "reason", "detail", "noticed_at")
_KNOWN = "select place, reason from problems where source_id = :source and place >= :first"
_CLEAR_FILE = """
    delete from problems where source_id = :source and place = 0 and reason = :reason
"""
_FORGET = "delete from problems where source_id = :source"
_CLEAR_RECORDS = "delete from problems where source_id = :source and reason <> :unreadable"
_OF_RECORDS = """
    select distinct place from problems
    where source_id = :source and not (reason in ('unreadable', 'evicted') and length = 0)
"""
_DROP_AT = """
    delete from problems where source_id = :source and place = :place
    and not (reason in ('unreadable', 'evicted') and length = 0)
"""
_HAS = "select 1 from problems where source_id = :source and reason = :reason limit 1"
_OF_REASON = "select place, detail from problems where source_id = :source and reason = :reason"
_REMOVE = "delete from problems where source_id = :source and reason = :reason and place = :place"
_DROP_NAMING = "delete from problems where reason = :reason and detail like :naming"
_COUNT = "select count(*) from problems"
_LIST = """
    select s.host, s.path, p.place, p.length, p.reason, p.detail, p.noticed_at
    from problems p join sources s on s.id = p.source_id
    order by s.host, s.path, s.generation, p.place, p.reason
"""


def _storable(value: object) -> object:
    return escaped(value) if isinstance(value, str) else value


class Problems:
    """The table of problems. A problem of length 0 is about a whole file, or about a line that was
    read in spite of the problem."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.added = 0
        """How many problems were added through this object."""

    def add(
        self, source_id: int, problems: list[tuple[int, int, str, str]], now: int
    ) -> list[tuple[int, int, str, str]]:
        """Store each ``(place, length, reason, detail)``, and return the new ones.

        Of several problems with the same place and reason, the first one is kept.
        """
        if not problems:
            return []
        window = {"source": source_id, "first": min(place for place, *_ in problems)}
        known = {tuple(row) for row in self._db.all(_KNOWN, window)}
        first = {(problem[0], problem[2]): problem for problem in reversed(problems)}
        new = [first[key] for key in sorted(first.keys() - known)]
        self._db.insert(
            "problems", _COLUMNS, [(source_id, *map(_storable, problem), now) for problem in new]
        )
        self.added += len(new)
        return new

    def clear_unreadable(self, source_id: int) -> None:
        """Remove the problem that the file could not be read, because it can be read again."""
        self._db.execute(_CLEAR_FILE, {"source": source_id, "reason": UNREADABLE})

    def forget(self, source_id: int) -> None:
        """Remove all problems of a source that is read again from its start."""
        self._db.execute(_FORGET, {"source": source_id})

    def drop_within(self, source_id: int, ranges: Sequence[tuple[int, int]]) -> None:
        """Remove the problems of records in these ranges: ``(start, length)``, in order."""
        for (place,) in self._db.all(_OF_RECORDS, {"source": source_id}):
            nearest = bisect_right(ranges, (place, NO_END)) - 1
            if nearest >= 0 and place < sum(ranges[nearest]):
                self._db.execute(_DROP_AT, {"source": source_id, "place": place})

    def clear_records(self, sources: Sequence[int]) -> None:
        """Remove the problems that were found in the contents of sources, before a rebuild.

        Reading the stored logs again adds those that are still there. The problems of files that
        could not be read stay.
        """
        rows = ({"source": source, "unreadable": UNREADABLE} for source in sources)
        self._db.update_many(_CLEAR_RECORDS, rows)

    def replace(
        self, source_id: int, reason: str, sessions: set[str], details: dict[int, str], now: int
    ) -> None:
        """Replace the problems of one reason that some sessions have in a source.

        ``details`` maps places to details. Each detail begins with the uid of a session. Problems
        of these sessions with this reason that are not in ``details`` are removed.
        """
        where = {"source": source_id, "reason": reason}
        for place, detail in self._db.all(_OF_REASON, where):
            if detail.partition(": ")[0] in sessions and details.get(place) != detail:
                self._db.execute(_REMOVE, {**where, "place": place})
        self.add(source_id, [(place, 0, reason, detail) for place, detail in details.items()], now)

    def has(self, source_id: int, reason: str) -> bool:
        """Whether a source has a problem of this reason."""
        return self._db.value(_HAS, {"source": source_id, "reason": reason}) is not None

    def drop_naming(self, reason: str, text: str) -> None:
        """Remove the problems of a reason whose detail contains a text."""
        self._db.execute(_DROP_NAMING, {"reason": reason, "naming": f"%{text}%"})

    def count(self) -> int:
        return int(self._db.value(_COUNT))

    def every(self) -> list[Problem]:
        return [
            Problem(host, path, place, length, reason, detail, format_time(noticed))
            for host, path, place, length, reason, detail, noticed in self._db.all(_LIST)
        ]
