"""Counting what the responses of one session used, and storing it.

A response that is logged several times counts once: with its largest output, which is the whole
answer, and at the event of its last block.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from operator import add, sub

from session_memory.adapters.base import NativeUsage, Record
from session_memory.derive.turns_with_subagents import store_turns
from session_memory.store.database import Row
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, NewUsage

NEVER = 1 << 62


class UsageWriting:
    """The usage of one session.

    ``counts_for`` is an evicted session that some of the responses count for. ``has_turns`` says
    that usage was stored for turns that include their subagents.
    """

    def __init__(self, store: Store, row: CollectedSession, flavor: str) -> None:
        self._store = store
        self._row = row
        self._flavor = flavor
        self._stored: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._counted_elsewhere: set[str] = set()
        self._flushed: set[str] = set()
        self.counts_for: int | None = None
        self.has_turns = False
        self._begin()

    def _begin(self) -> None:
        self._found: dict[str, tuple[NativeUsage, int | None, int]] = {}
        self._new: list[NewUsage] = []
        self._shared: list[NewUsage] = []
        self._larger: list[tuple[int, NewUsage]] = []
        self._moved: list[tuple[int, int]] = []
        self._turns: list[tuple[int, NativeUsage]] = []

    def add(self, record: Record, seq: int) -> None:
        """Take the usage of a record, which belongs to the event ``seq``."""
        found = self._found
        for used in usage_in(record):
            earlier = found.get(used.usage_id)
            if earlier is None or used.output_tokens >= earlier[0].output_tokens:
                found[used.usage_id] = (used, record.ts, seq)
            else:
                found[used.usage_id] = (earlier[0], earlier[1], seq)

    # ------------------------------------------------------------ what is stored already

    def other_counters(
        self, records: list[Record], usage_ids: set[str], holders: set[int]
    ) -> tuple[set[int], bool]:
        """The sessions that logged some of these responses already.

        Also returns whether a record here may hold a larger output than the stored one. Thousands
        of forks may have logged the responses of one session. A new session whose records one
        session holds is compared with what counts for that one.
        """
        others: set[int] = set()
        outputs: dict[str, int] = {}
        if self._row.is_new and len(holders) == 1:
            outputs = self._counting_for(next(iter(holders)), usage_ids)
        for row_id, usage_id, session_id, *buckets in self._stored_usage(usage_ids - set(outputs)):
            if session_id == self._row.id:
                self._stored[usage_id] = (row_id, tuple(buckets))
            else:
                outputs[usage_id] = buckets[1]
                others.add(session_id)
        self._counted_elsewhere = set(outputs)
        is_larger = bool(outputs) and any(
            used.output_tokens > outputs.get(used.usage_id, NEVER)
            for record in records
            for used in usage_in(record)
        )
        return others, is_larger

    def _counting_for(self, session_id: int, usage_ids: set[str]) -> dict[str, int]:
        """Which of the responses count for a session, each with its output.

        Where the session counts what a third one logged, a fork with the same output could be the
        one that is counted, so the output is returned as one less.
        """
        stored = self._store.usage.counted_by(session_id)
        return {
            usage_id: output if logged_by == session_id else output - 1
            for usage_id, logged_by, output in stored
            if usage_id in usage_ids
        }

    def find_stored(self, evicted: Mapping[str, int]) -> None:
        """Find which responses this session has stored, and which count for an evicted one.

        ``evicted`` maps the responses that count for an evicted session to that session. The index
        is asked only for those that were flushed before: thousands of forks may have logged them.
        """
        again = self._flushed.intersection(self._found)
        for row_id, usage_id, session_id, *buckets in self._stored_usage(again):
            if session_id == self._row.id:
                self._stored[usage_id] = (row_id, tuple(buckets))
        for usage_id in evicted.keys() & self._found.keys() if evicted else ():
            self._counted_elsewhere.add(usage_id)
            self.counts_for = evicted[usage_id]

    def _stored_usage(self, usage_ids: Iterable[str]) -> Iterator[Row]:
        keys = {usage_key(self._flavor, usage_id): usage_id for usage_id in usage_ids}
        for row_id, key, usage_id, *rest in self._store.usage.stored(list(keys)):
            if keys[key] == usage_id:
                yield row_id, usage_id, *rest

    # ------------------------------------------------------------ counting and storing

    def count(self) -> None:
        """Add what was found to the buckets of the session's row, and prepare it for storing."""
        gained = (0,) * len(BUCKETS)
        for usage_id, (native, ts, seq) in self._found.items():
            if native.includes_subagents:
                self._turns.append((usage_key(self._flavor, usage_id), native))
            if usage_id in self._counted_elsewhere:
                self._shared.append(self._usage_row(native, ts, seq))
                continue
            stored = self._stored.get(usage_id)
            if stored is not None and native.output_tokens < stored[1][1]:
                self._moved.append((stored[0], seq))
                continue
            row = self._usage_row(native, ts, seq)
            gained = tuple(map(add, gained, row.buckets))
            if stored is None:
                self._new.append(row)
            else:
                self._larger.append((stored[0], row))
                gained = tuple(map(sub, gained, stored[1]))
        self._flushed.update(self._found)
        self._found = {}
        for name, more in zip(BUCKETS, gained, strict=True):
            setattr(self._row, name, getattr(self._row, name) + more)

    def flush(self) -> None:
        """Store what was counted since the last flush."""
        usage, session_id = self._store.usage, self._row.id
        usage.add(session_id, self._new, session_id)
        usage.add(session_id, self._shared, None)
        for row_id, larger in self._larger:
            usage.replace(row_id, larger)
        for row_id, seq in self._moved:
            usage.move(row_id, seq)
        self.has_turns |= store_turns(self._store, self._row, self._turns)
        self._begin()

    def _usage_row(self, native: NativeUsage, ts: int | None, seq: int) -> NewUsage:
        return NewUsage(
            usage_key(self._flavor, native.usage_id),
            native.usage_id,
            seq,
            ts,
            native.model,
            native.speed,
            native.service_tier,
            native.input_tokens,
            native.output_tokens,
            native.cache_read_tokens,
            native.cache_write_tokens,
            native.cache_write_1h_tokens,
            native.reasoning_tokens,
            native.web_searches,
        )


def usage_in(record: Record) -> tuple[NativeUsage, ...]:
    """Every usage that a record holds; nearly always none or one."""
    if record.usage is None:
        return ()
    return (record.usage, *record.more_usage) if record.more_usage else (record.usage,)


def usage_key(flavor: str, usage_id: str) -> int:
    """A 63-bit hash of a usage id, for the index. Rows with equal keys are compared by id."""
    digest = blake2b(f"{flavor}\0{usage_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
