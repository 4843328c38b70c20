"""A store that is written to by hand: sessions and what they used, without logs."""

from itertools import count

from session_memory.core.time import parse_time
from session_memory.store import Store
from session_memory.store.sessions import EMPTY_STATE, CollectedSession
from session_memory.store.usage import NewUsage


class Ledger:
    """Writes usage into a store; every record gets an id of its own."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._numbers = count(1)
        self._ids: dict[str, int] = {}

    def session(self, name: str = "alpha", *, flavor: str = "claude", **facts: object) -> str:
        uid = f"{flavor}:{name}"
        row = CollectedSession(uid=uid, flavor=flavor, native_id=name, state=EMPTY_STATE, **facts)
        with self.store.transaction():
            self.store.sessions.save(row)
        self._ids[uid] = row.id
        return uid

    def used(
        self,
        uid: str,
        model: str,
        at: str | int | None = "2026-07-01T10:00:00.000Z",
        *,
        speed: str | None = None,
        tier: str | None = None,
        reported: int | None = None,
        **buckets: int,
    ) -> str:
        number = next(self._numbers)
        row = NewUsage(
            usage_key=number,
            usage_id=f"msg_{number}",
            seq=number,
            ts=parse_time(at) if isinstance(at, str) else at,
            model=model,
            speed=speed,
            service_tier=tier,
            input_tokens=buckets.get("input", 0),
            output_tokens=buckets.get("output", 0),
            cache_read_tokens=buckets.get("read", 0),
            cache_write_tokens=buckets.get("write", 0),
            cache_write_1h_tokens=buckets.get("hour", 0),
            reasoning_tokens=buckets.get("reasoning", 0),
            web_searches=buckets.get("searches", 0),
            reported_cost=reported,
        )
        with self.store.transaction():
            self.store.usage.add(self._ids[uid], [row], self._ids[uid])
        return row.usage_id
