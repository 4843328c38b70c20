"""Sets of kept figures: stored sums of usage and cost, and the sessions whose sums are out of date.

`session_memory.store.figure_marks` marks the sessions that change.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from session_memory.store.database import Database
from session_memory.store.usage import BUCKETS

NO_DAY = -1_000_000
"""The day of usage without a time."""
MOST_SETS = 5
LARGEST = 1 << 62
_MARK_ALL = """
    insert into figure_marks (set_id, session_id) select :set_id, id from sessions order by id
"""
_UNMARK = "delete from figure_marks where set_id = :set_id and session_id in ({ids})"
_MARKED = """
    select distinct session_id from figure_marks where set_id = :set_id order by session_id
    limit {limit}
"""
_SETS = "select id, prices, zone from figure_sets order by id"
_OLD_SETS = "select id from figure_sets order by made_at desc, id desc"
_GROUPS = "select id, flavor, repo, model, outcome, is_subagent from figure_groups"
_OF_SESSIONS = """
    select id, uid, flavor, repo, model,
        case when analyzed_at is null then 'unknown' else outcome end,
        case when relation = 'subagent' then 1 else 0 end
    from sessions where id in ({ids})
"""
COLUMNS = ("model", "speed", "tier", "rate", "records", *BUCKETS, "dollars", "rest")
_SUMMED = COLUMNS[4:]
_KEY = ("set_id", "day", "group_id", *COLUMNS[:4])
# Adding 0 keeps SQLite from reading all days of the set instead of these sessions.
_SET = "set_id + 0 = :set_id"
_SUBTRACT = f"""
    insert into daily_spending ({", ".join((*_KEY, *_SUMMED))})
    select {", ".join(_KEY)}, {", ".join(f"cast(-sum({name}) as bigint)" for name in _SUMMED)}
    from session_spending where {_SET} and session_id in ({{ids}})
    group by {", ".join(_KEY)}
"""
_ADD = f"""
    insert into daily_spending ({", ".join((*_KEY, *_SUMMED))})
    select {", ".join(_KEY)}, {", ".join(f"cast(sum({name}) as bigint)" for name in _SUMMED)}
    from session_spending where {_SET} and session_id in ({{ids}})
    group by {", ".join(_KEY)}
"""
_DAYS_OF = f"""
    select distinct day from session_spending where {_SET} and session_id in ({{ids}})
"""
_OF_DAYS = f"""
    select {", ".join(_KEY)}, {", ".join(f"cast(sum({name}) as bigint)" for name in _SUMMED)}
    from daily_spending where set_id = :set_id and day in ({{ids}})
    group by {", ".join(_KEY)} having sum(records) <> 0
"""
_DROP_DAYS = "delete from daily_spending where set_id = :set_id and day in ({ids})"
_COST = ("set_id", "session_id", "microdollars", "unpriced_tokens")
_PER_SESSION = ("session_spending", "session_costs")
_PER_SET = (
    *(*_PER_SESSION, "daily_spending", "session_files", "figure_marks"),
    *("session_days", "work_sums", "uncounted_days"),
)


class FigureSet(msgspec.Struct, frozen=True):
    """A set of figures, with the names of the prices and of the time zone that it was made with."""

    id: int
    prices: str
    zone: str


class FiguredSession(msgspec.Struct, frozen=True):
    """A session to make figures of. ``group`` has the values by which figures are grouped."""

    id: int
    uid: str
    group: tuple[str, str | None, str | None, str, int]


class SpendingRow(msgspec.Struct, frozen=True):
    """A row of ``session_spending``. ``figures`` are the values of ``COLUMNS``."""

    session_id: int
    day: int
    figures: tuple[int, ...]


class KeptCost(msgspec.Struct, frozen=True):
    session_id: int
    microdollars: int
    unpriced_tokens: int


class Figures:
    """The tables of figures. A caller that needs missing figures computes and stores them.

    That may take seconds. If ``make_elsewhere`` is set, the caller calls this function instead.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self.make_elsewhere: Callable[[], None] | None = None

    def discard(self) -> None:
        """Delete all figures. They are made again when they are needed."""
        for table in (*_PER_SET, "figure_groups", "figure_sets"):
            self._db.execute(f"delete from {table}")

    # ------------------------------------------------------------ sets

    def sets(self) -> list[FigureSet]:
        return [FigureSet(*row) for row in self._db.all(_SETS)]

    def add_set(self, prices: str, zone: str, now: int) -> FigureSet:
        """Add a set in which no session is counted yet. Only the newest `MOST_SETS` are kept."""
        for (old,) in self._db.all(_OLD_SETS)[MOST_SETS - 1 :]:
            for table in _PER_SET:
                self._db.execute(f"delete from {table} where set_id = :old", {"old": old})
            self._db.execute("delete from figure_sets where id = :old", {"old": old})
        made = self._db.insert_one(
            "figure_sets", ("prices", "zone", "made_at"), (prices, zone, now)
        )
        self._db.execute(_MARK_ALL, {"set_id": made})
        return FigureSet(made, prices, zone)

    def marked(self, set_id: int, limit: int) -> list[int]:
        """The first ``limit`` sessions, by id, whose figures in a set are out of date."""
        rows = self._db.all(_MARKED.format(limit=int(limit)), {"set_id": set_id})
        return [row[0] for row in rows]

    # ------------------------------------------------------------ figures

    def sessions(self, ids: Iterable[int]) -> list[FiguredSession]:
        rows = self._db.all(_OF_SESSIONS.format(ids=listed(ids)))
        return [FiguredSession(row[0], row[1], tuple(row[2:])) for row in rows]

    def replace(
        self,
        set_id: int,
        sessions: Sequence[FiguredSession],
        ids: Sequence[int],
        rows: Iterable[SpendingRow],
        costs: Iterable[KeptCost],
    ) -> set[int]:
        """Replace the figures of sessions, and remove their marks. Returns the days that changed.

        ``ids`` are those of ``sessions`` and of sessions that are gone."""
        given, among = {"set_id": set_id}, listed(ids)
        db = self._db
        days = {row[0] for row in db.all(_DAYS_OF.format(ids=among), given)}
        db.execute(_SUBTRACT.format(ids=among), given)
        for table in _PER_SESSION:
            db.execute(f"delete from {table} where {_SET} and session_id in ({among})", given)
        groups = self._groups(sessions)
        new = [
            (set_id, row.session_id, row.day, groups[row.session_id], *row.figures) for row in rows
        ]
        columns = ("set_id", "session_id", "day", "group_id", *COLUMNS)
        db.insert("session_spending", columns, new)
        db.execute(_ADD.format(ids=among), given)
        amounts = [
            (set_id, one.session_id, min(one.microdollars, LARGEST), one.unpriced_tokens)
            for one in costs
        ]
        db.insert("session_costs", _COST, amounts)
        db.execute(_UNMARK.format(ids=among), given)
        return days | {row[2] for row in new}

    def _groups(self, sessions: Sequence[FiguredSession]) -> dict[int, int]:
        """The number of each session's group."""
        known = {tuple(row[1:]): int(row[0]) for row in self._db.all(_GROUPS)}
        columns = ("flavor", "repo", "model", "outcome", "is_subagent")
        found = {}
        for one in sessions:
            if one.group not in known:
                known[one.group] = self._db.insert_one("figure_groups", columns, one.group)
            found[one.id] = known[one.group]
        return found

    def join_days(self, set_id: int, days: Iterable[int]) -> None:
        """Merge the rows of each day that have the same key into one row."""
        given, among = {"set_id": set_id}, listed(days)
        rows = self._db.all(_OF_DAYS.format(ids=among), given)
        self._db.execute(_DROP_DAYS.format(ids=among), given)
        self._db.insert("daily_spending", (*_KEY, *_SUMMED), rows)


def listed(ids: Iterable[int]) -> str:
    """The text between the brackets of ``in (…)``. Without numbers, no row matches."""
    return ", ".join(f"{one:d}" for one in ids) or "null"
