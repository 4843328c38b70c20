"""Kept sums of the work of all sessions, by the day on which a session began.

The sums of a day cover the sessions that began on it, as the table ``session_days`` says. The sums
are out of date if one of these sessions has a mark. A day that gained or lost a session is
uncounted: it has no sums until they are made again.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from session_memory.store.database import Database
from session_memory.store.figures import NO_DAY, listed

DAY_MS = 86_400_000
WIDTH = 32
"""Spans of so many days have sums too. So the sums of a long period need fewer rows."""
_DAYS = ("set_id", "session_id", "day", "first_at", "last_at", "is_long")
_SUMS = ("set_id", "width", "day", "part", "figures")
# The times by which `_present` finds the first and the last moment of a session.
_MOMENTS = """
    select s.id, s.started_at,
        (select min(e.ts) from events e where e.session_id = s.id),
        (select max(e.ts) from events e where e.session_id = s.id),
        (select min(u.ts) from usage u where u.owner_id = s.id),
        (select max(u.ts) from usage u where u.owner_id = s.id)
    from sessions s where s.id in ({ids})
"""
_KNOWN = """
    select session_id, day, first_at, last_at, is_long from session_days
    where set_id + 0 = :set_id and session_id in ({ids})
"""
_DROP_DAYS = "delete from session_days where set_id + 0 = :set_id and session_id in ({ids})"
_ON_DAYS = """
    select session_id from session_days where set_id = :set_id and day in ({ids})
    order by session_id limit {limit}
"""
_LONG = """
    select session_id, day from session_days
    where set_id = :set_id and is_long = 1 and day < :day and last_at >= :moment
"""
_DROP_SUMS = "delete from work_sums where set_id = :set_id and day in ({ids}) and width = {width}"
_UNCOUNTED = "select distinct day from uncounted_days where set_id = :set_id order by day"
_COUNTED = "delete from uncounted_days where set_id = :set_id and day = :day"
_WIDE = "select day from work_sums where set_id = :set_id and part = :part and width = :width"
_FIGURES = """
    select figures from work_sums where set_id = :set_id and part = :part and (
        (width = {width} and day in ({wide})) or (width = 1 and day in ({single}))
    )
"""
_SINGLE = """
    select day from work_sums where set_id = :set_id and part = :part and width = 1
        and day >= :first and day < :end order by day
"""
_UNMARK = "delete from figure_marks where set_id = :set_id and session_id in ({ids})"
_MARKED_ON = """
    select d.session_id from session_days d where d.set_id = :set_id and d.day = :day and exists (
        select 1 from figure_marks m where m.set_id = :set_id and m.session_id = d.session_id
    )
"""


class SessionDay(msgspec.Struct, frozen=True):
    """The day on which a session began, counted from 1970, and its first and last moment.

    ``is_long`` is 1 if it ended on a later day.
    """

    session_id: int
    day: int
    first_at: int | None
    last_at: int | None
    is_long: int


class WorkSums:
    """The sums of one set of figures."""

    def __init__(self, db: Database, set_id: int) -> None:
        self._db = db
        self._set = {"set_id": set_id}
        self._set_id = set_id

    # ------------------------------------------------------------ days of sessions

    def known(self, ids: Iterable[int]) -> dict[int, SessionDay]:
        rows = self._db.all(_KNOWN.format(ids=listed(ids)), self._set)
        return {row[0]: SessionDay(*row) for row in rows}

    def on_days(self, days: Iterable[int], limit: int) -> list[int]:
        rows = self._db.all(_ON_DAYS.format(ids=listed(days), limit=int(limit)), self._set)
        return [row[0] for row in rows]

    def lasting(self, moment: int) -> dict[int, int]:
        """The sessions that lasted until ``moment`` or longer and began on an earlier day.

        Maps each to the day on which it began.
        """
        given = {**self._set, "day": moment // DAY_MS, "moment": moment}
        return {row[0]: row[1] for row in self._db.all(_LONG, given)}

    def place(self, ids: Sequence[int]) -> dict[int, SessionDay]:
        """Store on which days sessions began. Days that gain or lose a session become uncounted.

        Call it inside a transaction. Returns the days of the sessions that still exist.
        """
        before, now = self.known(ids), self._present(ids)
        changed = [one for one in ids if before.get(one) != now.get(one)]
        days = {side[one].day for one in changed for side in (before, now) if one in side}
        self._db.execute(_DROP_DAYS.format(ids=listed(changed)), self._set)
        new = (now[one] for one in changed if one in now)
        rows = [(self._set_id, *msgspec.structs.astuple(one)) for one in new]
        self._db.insert("session_days", _DAYS, rows)
        self._become_uncounted(days)
        return now

    def _present(self, ids: Sequence[int]) -> dict[int, SessionDay]:
        found = {}
        for session_id, start, *moments in self._db.all(_MOMENTS.format(ids=listed(ids))):
            times = [one for one in (start, *moments) if one is not None]
            if start is None:
                # The session counts in no period if its events have no time either.
                found[session_id] = SessionDay(session_id, NO_DAY, None, None, 0)
                continue
            first, last = min(times), max(times)
            day = first // DAY_MS
            is_long = int(last // DAY_MS > day)
            found[session_id] = SessionDay(session_id, day, first, last, is_long)
        return found

    # ------------------------------------------------------------ days that have no sums

    def uncounted(self) -> list[int]:
        return [row[0] for row in self._db.all(_UNCOUNTED, self._set)]

    def _become_uncounted(self, days: Collection[int]) -> None:
        self._drop(days)
        self._db.insert("uncounted_days", ("set_id", "day"), [(self._set_id, one) for one in days])

    def _drop(self, days: Iterable[int]) -> None:
        among = set(days)
        starts = {one // WIDTH * WIDTH for one in among}
        self._db.execute(_DROP_SUMS.format(ids=listed(among), width=1), self._set)
        self._db.execute(_DROP_SUMS.format(ids=listed(starts), width=WIDTH), self._set)

    # ------------------------------------------------------------ sums

    def marked_on(self, day: int) -> list[int]:
        return [row[0] for row in self._db.all(_MARKED_ON, {**self._set, "day": day})]

    def unmark(self, ids: Iterable[int]) -> None:
        self._db.execute(_UNMARK.format(ids=listed(ids)), self._set)

    def write_day(self, day: int, parts: dict[str, bytes]) -> None:
        """Replace the sums of a day. Call it inside a transaction."""
        self._drop([day])
        self._insert(1, day, parts)
        self._db.execute(_COUNTED, {**self._set, "day": day})

    def write_wide(self, day: int, parts: dict[str, bytes]) -> None:
        self._db.execute(_DROP_SUMS.format(ids=listed([day]), width=WIDTH), self._set)
        self._insert(WIDTH, day, parts)

    def _insert(self, width: int, day: int, parts: dict[str, bytes]) -> None:
        rows: list[tuple[Any, ...]] = [
            (self._set_id, width, day, part, figures) for part, figures in parts.items()
        ]
        self._db.insert("work_sums", _SUMS, rows)

    def wide_days(self, part: str) -> set[int]:
        """The first day of each span of `WIDTH` days that has sums."""
        given = {**self._set, "part": part, "width": WIDTH}
        return {row[0] for row in self._db.all(_WIDE, given)}

    def single_days(self, part: str, first: int, end: int) -> list[int]:
        """The days with sums from ``first`` until before ``end``."""
        given = {**self._set, "part": part, "first": first, "end": end}
        return [row[0] for row in self._db.all(_SINGLE, given)]

    def figures(self, part: str, wide: Iterable[int], single: Iterable[int]) -> list[bytes]:
        sql = _FIGURES.format(width=WIDTH, wide=listed(wide), single=listed(single))
        return [bytes(row[0]) for row in self._db.all(sql, {**self._set, "part": part})]
