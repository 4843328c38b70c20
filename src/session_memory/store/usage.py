"""Usage: one row per model response and session that logged it. A response has one owner."""

from collections.abc import Iterable, Iterator

import msgspec

from session_memory.core.schema import Usage
from session_memory.core.text import escaped
from session_memory.core.time import format_time
from session_memory.store.database import Database, Row
from session_memory.store.figure_marks import FigureMarks
from session_memory.store.name_table import NameTable

BUCKETS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "reasoning_tokens",
    "web_searches",
)


class NewUsage(msgspec.Struct, gc=False):
    """The usage of a response, not stored yet: names are texts, not numbers of the name table."""

    usage_key: int
    usage_id: str
    seq: int
    ts: int | None
    model: str
    speed: str | None
    service_tier: str | None
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    reasoning_tokens: int
    web_searches: int
    reported_cost: int | None = None

    @property
    def buckets(self) -> tuple[int, ...]:
        return msgspec.structs.astuple(self)[7:-1]


class StoredUsage(msgspec.Struct, gc=False):
    """The row of a response and a session that logged or reported it."""

    id: int
    usage_key: int
    usage_id: str
    session_id: int
    owner_id: int | None
    reported_for: int | None
    ts: int | None
    buckets: tuple[int, ...]

    @property
    def is_reported(self) -> bool:
        return self.reported_for is not None

    @property
    def output_tokens(self) -> int:
        return self.buckets[OUTPUT]

    @property
    def input_counts(self) -> tuple[int, ...]:
        """The counts of input tokens, which do not grow while a response is streamed."""
        given, _, read, written, *_ = self.buckets
        return given, read, written


OUTPUT = BUCKETS.index("output_tokens")
NOBODY = 0
"""``reported_for`` of a response for which the report of another session counts."""

_COLUMNS = ("session_id", "owner_id", "reported_for", *NewUsage.__struct_fields__)
_BUCKETS = ", ".join(BUCKETS)
MANY_ROWS = 100
"""`stored_if_few` gives up if it finds so many rows more than two for each response: then many
sessions have the responses, and all rows would take long to read."""

_ROWS = f"""
    select id, usage_key, usage_id, session_id, owner_id, reported_for, ts, {_BUCKETS} from usage
"""
_BY_KEY = f"{_ROWS} where usage_key in ({{keys}})"
_BY_TIME = f"{_ROWS} where usage_key = :key and ts = :ts"
_HAS_EVICTED = "select 1 from evicted_sources limit 1"
_OF_EVICTED = f"""
    {_BY_KEY} and session_id in (select id from sessions where evicted_at is not null)
"""
_LOGGED_BY = (
    f"{_ROWS} where owner_id = :session and session_id = :session",
    f"""
    {_ROWS} where session_id = :session and (owner_id is null or owner_id <> session_id)
    """,
)
_LOGGED_BY_OTHERS = """
    select 1 from usage u join usage o on o.usage_key = u.usage_key and o.session_id <> u.session_id
    where u.owner_id = :session or u.reported_for = :session limit 1
"""
_REPORTED = """
    select distinct usage_key from usage where reported_for is not null and usage_key in ({keys})
"""
_ALSO_REPORTED = """
    select distinct r.usage_key from usage u cross join usage r
    where u.owner_id = :session and u.reported_for is null
        and r.usage_key = u.usage_key and r.reported_for is not null
"""
_COUNT_REPORTED = """
    select count(*) from usage where reported_for = :session and owner_id = :session
"""
_LOGGERS = """
    select distinct u.session_id from usage r cross join usage u
    where r.reported_for = :session and u.usage_key = r.usage_key and u.usage_id = r.usage_id
        and u.reported_for is null
"""
_GIVE_REPORT = "update usage set owner_id = :owner, reported_for = :reported where id = :id"
_ADD_TO_SUMS = f"""
    update sessions set {", ".join(f"{name} = {name} + :{name}" for name in BUCKETS)},
        revision = revision + case when evicted_at is null then 1 else 0 end
    where id = :session
"""
_REPLACE = f"""
    update usage set seq = :seq, ts = :ts, model = :model, speed = :speed,
        service_tier = :service_tier, reported_cost = :reported_cost,
        {", ".join(f"{name} = :{name}" for name in BUCKETS)}
    where id = :id
"""
_COUNTED_FOR = (
    f"{_ROWS} where owner_id in ({{keys}}) and reported_for is null",
    f"{_ROWS} where reported_for in ({{keys}})",
)
_COUNTED_BY = """
    select usage_id, session_id, output_tokens from usage
    where owner_id = :session and reported_for is null
"""
_REPORTED_BY = "select usage_id, session_id, output_tokens from usage where reported_for = :session"
_SET_SEQ = "update usage set seq = :seq where id = :id"
_SET_OWNER = "update usage set owner_id = :owner where id = :id"
_OF_SESSION = f"""
    select usage_id, seq, ts, model, speed, service_tier, reported_for, reported_cost, {_BUCKETS}
    from usage
    where owner_id = :session order by seq, usage_id
"""
_SUMS = f"""
    select {", ".join(f"coalesce(sum({name}), 0)" for name in BUCKETS)} from usage
    where owner_id = :session
"""


class UsageTable:
    def __init__(self, db: Database, names: NameTable, marks: FigureMarks) -> None:
        self._db = db
        self._names = names
        self._marks = marks

    def stored(self, keys: list[int]) -> list[StoredUsage]:
        """The rows of the responses with these keys."""
        return list(_stored(self._db.matching(_BY_KEY, keys)))

    def stored_if_few(self, keys: list[int], *, known: int = 0) -> list[StoredUsage] | None:
        """The rows of the responses with these keys. None if there are many.

        ``known`` is the number of rows that the caller expects.
        """
        most = known + 2 * len(keys) + MANY_ROWS
        rows = list(_stored(self._db.matching(f"{_BY_KEY} limit {most}", keys)))
        return rows if len(rows) < most else None

    def stored_at(self, key: int, ts: int) -> list[StoredUsage]:
        """The rows of the responses with this key and this time."""
        return list(_stored(self._db.all(_BY_TIME, {"key": key, "ts": ts})))

    def of_evicted(self, keys: list[int]) -> list[StoredUsage]:
        """The rows of the responses with these keys that evicted sessions have."""
        if self._db.one(_HAS_EVICTED) is None:
            return []
        return list(_stored(self._db.matching(_OF_EVICTED, keys)))

    def logged_by(self, session_id: int) -> list[StoredUsage]:
        """The rows of all responses that a session logged or reported."""
        rows = (self._db.all(statement, {"session": session_id}) for statement in _LOGGED_BY)
        return [usage for some in rows for usage in _stored(some)]

    def add(
        self, session_id: int, rows: list[NewUsage], owner: int | None, *, reported: bool = False
    ) -> None:
        """Store the responses that a session logged or ``reported``. They count for ``owner``."""
        if not rows:
            return
        number = self._names.numbers
        reported_for = (owner or NOBODY) if reported else None
        self._db.insert(
            "usage",
            _COLUMNS,
            [
                (
                    session_id,
                    owner,
                    reported_for,
                    row.usage_key,
                    escaped(row.usage_id),
                    row.seq,
                    row.ts,
                    number[row.model],
                    number[row.speed],
                    number[row.service_tier],
                    *row.buckets,
                    row.reported_cost,
                )
                for row in rows
            ],
        )
        if owner is not None:
            self._marks.add(owner)

    def replace(self, usage_row_id: int, row: NewUsage) -> None:
        values = msgspec.structs.asdict(row)
        for name in ("model", "speed", "service_tier"):
            values[name] = self._names.numbers[values[name]]
        self._db.execute(_REPLACE, {**values, "id": usage_row_id})

    def move(self, usage_row_id: int, seq: int) -> None:
        """Set ``seq``, the event of the response's last block."""
        self._db.execute(_SET_SEQ, {"id": usage_row_id, "seq": seq})

    def counted_for(self, session_ids: list[int]) -> list[StoredUsage]:
        """Rows of responses that these sessions logged or reported, and that count for them.

        A report for one of the sessions is included even if a session logged the response itself.
        """
        sessions = set(session_ids)
        return [
            usage
            for statement in _COUNTED_FOR
            for usage in _stored(self._db.matching(statement, session_ids))
            if usage.session_id in sessions
        ]

    def counted_by(self, session_id: int, *, reported: bool) -> list[Row]:
        """``(usage_id, session_id, output_tokens)`` of each logged response that counts for one
        session.

        With ``reported``, of each report for the session instead, even if a session logged the
        response itself.
        """
        return self._db.all(_REPORTED_BY if reported else _COUNTED_BY, {"session": session_id})

    def is_logged_by_others(self, session_id: int) -> bool:
        """Whether another session logged or reported a response that counts for this session."""
        return self._db.one(_LOGGED_BY_OTHERS, {"session": session_id}) is not None

    def set_owner(self, usage_row_id: int, owner: int | None) -> None:
        self._db.execute(_SET_OWNER, {"id": usage_row_id, "owner": owner})

    # ------------------------------------------------------------ reports

    def give_report(self, usage_row_id: int, owner: int | None) -> None:
        """Let a reported response count for ``owner`` unless a session logs it itself."""
        given = {"id": usage_row_id, "owner": owner, "reported": owner or NOBODY}
        self._db.execute(_GIVE_REPORT, given)

    def reported_keys(self, keys: list[int]) -> list[int]:
        """Those among ``keys`` of which a response was reported."""
        return [row[0] for row in self._db.matching(_REPORTED, keys)]

    def also_reported(self, session_id: int) -> list[int]:
        """The keys of logged responses that count for this session, and that a session reported."""
        return [row[0] for row in self._db.all(_ALSO_REPORTED, {"session": session_id})]

    def count_reported(self, session_id: int) -> int:
        """How many responses count for a session only because of a report."""
        return int(self._db.value(_COUNT_REPORTED, {"session": session_id}))

    def loggers_of_reports(self, session_id: int) -> list[int]:
        """The sessions that logged a response themselves, if its report in another log counts for
        this session."""
        return [row[0] for row in self._db.all(_LOGGERS, {"session": session_id})]

    def add_to_sums(self, session_id: int, more: tuple[int, ...]) -> None:
        """Add ``more`` to the sums of a session. Figures that no longer count for it are negative.

        Its revision grows, so that its digest is made again. An evicted session keeps its revision.
        """
        added = dict(zip(BUCKETS, more, strict=True))
        self._db.execute(_ADD_TO_SUMS, {**added, "session": session_id})
        self._marks.add(session_id)

    def sums(self, session_id: int) -> tuple[int, ...]:
        """The sum of all usage that counts for the session, in the order of ``BUCKETS``."""
        row = self._db.one(_SUMS, {"session": session_id})
        return tuple(int(value) for value in row) if row else (0,) * len(BUCKETS)

    def of(self, session_id: int, uid: str) -> list[Usage]:
        word = self._names.word
        usages = []
        for row in self._db.all(_OF_SESSION, {"session": session_id}):
            usage_id, seq, ts, model, speed, tier, reported_for, cost, *buckets = row
            usages.append(
                Usage(
                    session_uid=uid,
                    usage_id=usage_id,
                    seq=seq,
                    ts=None if ts is None else format_time(ts),
                    model=word(model),
                    speed=word(speed),
                    service_tier=word(tier),
                    **dict(zip(BUCKETS, buckets, strict=True)),
                    reported_cost=cost,
                    **({} if reported_for is None else {"reported": True}),
                )
            )
        return usages


def _stored(rows: Iterable[Row]) -> Iterator[StoredUsage]:
    for one, key, usage_id, session, owner, reported_for, ts, *buckets in rows:
        yield StoredUsage(one, key, usage_id, session, owner, reported_for, ts, tuple(buckets))
