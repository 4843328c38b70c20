"""Usage: one row per model response and session that logged it. It counts for one owner only."""

import msgspec

from session_memory.core.schema import Usage
from session_memory.core.text import escaped
from session_memory.core.time import format_time
from session_memory.store.database import Database, Row
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

    @property
    def buckets(self) -> tuple[int, ...]:
        return msgspec.structs.astuple(self)[7:]


_COLUMNS = ("session_id", "owner_id", *NewUsage.__struct_fields__)
_BUCKETS = ", ".join(BUCKETS)
_BY_KEY = f"""
    select id, usage_key, usage_id, session_id, {_BUCKETS} from usage
    where usage_key in ({{keys}})
"""
_REPLACE = f"""
    update usage set seq = :seq, ts = :ts, model = :model, speed = :speed,
        service_tier = :service_tier, {", ".join(f"{name} = :{name}" for name in BUCKETS)}
    where id = :id
"""
_COUNTED_FOR = "select usage_id, session_id from usage where owner_id in ({keys})"
_COUNTED_BY = "select usage_id, session_id, output_tokens from usage where owner_id = :session"
_SET_SEQ = "update usage set seq = :seq where id = :id"
_SET_OWNER = "update usage set owner_id = :owner where id = :id"
_HELD = """
    select id, session_id, output_tokens, ts, seq from usage
    where usage_key = :key and usage_id = :id
"""
_OF_SESSION = f"""
    select usage_id, seq, ts, model, speed, service_tier, {_BUCKETS} from usage
    where owner_id = :session order by seq, usage_id
"""
_SUMS = f"""
    select {", ".join(f"coalesce(sum({name}), 0)" for name in BUCKETS)} from usage
    where owner_id = :session
"""


class UsageTable:
    def __init__(self, db: Database, names: NameTable) -> None:
        self._db = db
        self._names = names

    def stored(self, keys: list[int]) -> list[Row]:
        """``(id, usage_key, usage_id, session_id, *buckets)`` of the responses with these keys."""
        return list(self._db.matching(_BY_KEY, keys))

    def add(self, session_id: int, rows: list[NewUsage], owner: int | None) -> None:
        """Store the responses that a session logged. They count for session ``owner``."""
        if not rows:
            return
        number = self._names.numbers
        self._db.insert(
            "usage",
            _COLUMNS,
            [
                (
                    session_id,
                    owner,
                    row.usage_key,
                    escaped(row.usage_id),
                    row.seq,
                    row.ts,
                    number[row.model],
                    number[row.speed],
                    number[row.service_tier],
                    *row.buckets,
                )
                for row in rows
            ],
        )

    def replace(self, usage_row_id: int, row: NewUsage) -> None:
        values = msgspec.structs.asdict(row)
        for name in ("model", "speed", "service_tier"):
            values[name] = self._names.numbers[values[name]]
        self._db.execute(_REPLACE, {**values, "id": usage_row_id})

    def move(self, usage_row_id: int, seq: int) -> None:
        """Set ``seq``, the event of the response's last block."""
        self._db.execute(_SET_SEQ, {"id": usage_row_id, "seq": seq})

    def held(self, key: int, usage_id: str) -> list[Row]:
        """``(id, session_id, output_tokens, ts, seq)`` of every session that logged a response."""
        return self._db.all(_HELD, {"key": key, "id": usage_id})

    def counted_for(self, session_ids: list[int]) -> dict[str, int]:
        """Responses that these sessions logged and that count for them, each with its session."""
        rows = self._db.matching(_COUNTED_FOR, session_ids)
        return {row[0]: row[1] for row in rows if row[1] in session_ids}

    def counted_by(self, session_id: int) -> list[Row]:
        """``(usage_id, session_id, output_tokens)`` of all that counts for a session."""
        return self._db.all(_COUNTED_BY, {"session": session_id})

    def set_owner(self, usage_row_id: int, owner: int | None) -> None:
        self._db.execute(_SET_OWNER, {"id": usage_row_id, "owner": owner})

    def sums(self, session_id: int) -> tuple[int, ...]:
        """The sum of all usage that counts for the session, in the order of ``BUCKETS``."""
        row = self._db.one(_SUMS, {"session": session_id})
        return tuple(int(value) for value in row) if row else (0,) * len(BUCKETS)

    def of(self, session_id: int, uid: str) -> list[Usage]:
        word = self._names.word
        usages = []
        for row in self._db.all(_OF_SESSION, {"session": session_id}):
            usage_id, seq, ts, model, speed, tier, *buckets = row
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
                )
            )
        return usages
