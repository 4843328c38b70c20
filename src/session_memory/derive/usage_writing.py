"""Count what the responses of one session used, and store it.

A response that is logged several times counts once: with its largest output, which is the whole
answer, and at the event of its last block.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from operator import add, sub

from session_memory.adapters.base import NativeUsage, Record
from session_memory.derive.connected import connected_sessions
from session_memory.derive.found_usage import FoundUsage, Response, usage_in
from session_memory.derive.reported_usage import settle_reports
from session_memory.derive.response_ids import note_shared_ids
from session_memory.derive.same_responses import (
    Lines,
    rows_nearby,
    times_of,
    usage_key,
)
from session_memory.derive.turns_with_subagents import store_turns
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, NewUsage, StoredUsage

UNBEATEN = 1 << 62


class UsageWriting:
    """The usage of one session.

    - ``counts_for``: an evicted session that some of the responses count for
    - ``has_turns``: usage was stored for turns that include their subagents
    - ``changed``: the sessions that gained or lost the usage in a report
    """

    def __init__(self, store: Store, row: CollectedSession, flavor: str) -> None:
        self._store = store
        self._row = row
        self._flavor = flavor
        self._stored: dict[Response, StoredUsage] = {}
        self._counted_elsewhere: set[Response] = set()
        self._flushed: set[Response] = set()
        self._reported: set[int] = set()
        self._shared_ids: set[int] = set()
        self.changed: set[int] = set()
        self.counts_for: int | None = None
        self.has_turns = False
        self._begin()

    def _begin(self) -> None:
        self._found = FoundUsage()
        # The entry ``True`` has the responses that were only reported, ``False`` all others.
        self._new: dict[bool, list[NewUsage]] = {False: [], True: []}
        self._shared: dict[bool, list[NewUsage]] = {False: [], True: []}
        self._larger: list[tuple[int, NewUsage]] = []
        self._moved: list[tuple[int, int]] = []
        self._turns: list[tuple[int, NativeUsage]] = []

    def add(self, record: Record, seq: int) -> None:
        """Take the usage of a record, which belongs to the event ``seq``."""
        self._found.add(record, seq)

    def adopt(self, found: FoundUsage) -> None:
        """Take usage that a worker collected."""
        self._found = found

    # ------------------------------------------------------------ what is stored already

    def are_any_stored(self, usage_ids: Iterable[str]) -> bool:
        """Whether the store has a response with one of these ids."""
        keys = [usage_key(self._flavor, usage_id) for usage_id in usage_ids]
        return bool(keys) and self._store.usage.stored_if_few(keys) != []

    def other_counters(
        self, records: list[Record], responses: set[Response], holders: set[int]
    ) -> tuple[set[int], bool]:
        """The sessions that logged some of these responses already.

        Also returns whether a record here may hold a larger output than the stored one. If a single
        session holds records of a new session, that session's counted responses are read instead of
        all rows: thousands of forks may have logged the same responses.
        """
        others: set[int] = set()
        outputs: dict[Response, int] = {}
        if self._row.is_new and len(holders) == 1:
            outputs = self._counting_for(next(iter(holders)), responses)
        known = set(outputs)
        same = _Same(self._store, self._row, records, holders)
        for response, usage in self._stored_usage(responses - known, same):
            if usage.session_id == self._row.id:
                self._stored[response] = usage
            elif response not in responses or response in known:
                self._shared_ids.add(usage.usage_key)
            elif same.is_logged_here(usage):
                outputs[response] = usage.output_tokens
                others.add(usage.session_id)
            else:
                self._shared_ids.add(usage.usage_key)
        self._counted_elsewhere = set(outputs)
        is_larger = bool(outputs) and any(
            used.output_tokens > outputs.get((used.usage_id, used.is_reported), UNBEATEN)
            for record in records
            for used in usage_in(record)
        )
        return others, is_larger

    def _counting_for(self, session_id: int, responses: set[Response]) -> dict[Response, int]:
        """Those ``responses`` that count for a session, each with its output.

        If a third session logged such a response, its output is returned as one less. So the output
        of a fork with an equal row counts as larger: the fork's row may become the one that counts.
        """
        return {
            (usage_id, reported): output if logged_by == session_id else output - 1
            for reported in {is_reported for _, is_reported in responses}
            for usage_id, logged_by, output in self._store.usage.counted_by(
                session_id, reported=reported
            )
            if (usage_id, reported) in responses
        }

    def find_stored(self, evicted: Mapping[Response, list[StoredUsage]]) -> None:
        """Find which responses this session has stored, and which count for an evicted one.

        ``evicted`` has the rows that count for evicted sessions. The index is asked only for
        responses that were flushed before: thousands of forks may have logged them.
        """
        again = self._flushed.intersection(self._found)
        for response, usage in self._stored_usage(again):
            if usage.session_id == self._row.id:
                self._stored[response] = usage
        for response in evicted.keys() & self._found.keys() if evicted else ():
            used = self._found[response][0]
            counts = used.input_tokens, used.cache_read_tokens, used.cache_write_tokens
            for usage in evicted[response]:
                if usage.input_counts == counts:
                    self._counted_elsewhere.add(response)
                    self.counts_for = usage.session_id

    def _stored_usage(
        self, responses: Iterable[Response], same: "_Same | None" = None
    ) -> Iterator[tuple[Response, StoredUsage]]:
        """The stored rows of these responses. If there are many rows: only those of this session,
        and those that ``same`` may find to be the same response."""
        keys = {usage_key(self._flavor, usage_id): usage_id for usage_id, _ in responses}
        rows = self._store.usage.stored_if_few(list(keys))
        if rows is None:
            self._reported.update(self._store.usage.reported_keys(list(keys)))
            rows = self._store.usage.logged_by(self._row.id) if self._row.id else []
            if same is not None:
                self._shared_ids.update(keys)
                rows += same.candidates(self._flavor, list(keys))
        for usage in rows:
            if keys.get(usage.usage_key) == usage.usage_id:
                if usage.is_reported:
                    self._reported.add(usage.usage_key)
                yield (usage.usage_id, usage.is_reported), usage

    # ------------------------------------------------------------ counting and storing

    def count(self) -> None:
        """Add what was found to the buckets of the session's row, and prepare it for storing."""
        gained = (0,) * len(BUCKETS)
        for response, (native, ts, seq) in self._found.items():
            row = self._usage_row(native, ts, seq)
            if native.includes_subagents:
                self._turns.append((row.usage_key, native))
            if response in self._counted_elsewhere:
                self._shared[native.is_reported].append(row)
                continue
            if native.is_reported:
                self._reported.add(row.usage_key)
            stored = self._stored.get(response)
            if stored is not None and native.output_tokens < stored.output_tokens:
                self._moved.append((stored.id, seq))
                continue
            if stored is None:
                self._new[native.is_reported].append(row)
                gained = tuple(map(add, gained, row.buckets))
            else:
                self._larger.append((stored.id, row))
                if stored.owner_id is not None:
                    gained = tuple(map(sub, map(add, gained, row.buckets), stored.buckets))
        self._flushed.update(self._found)
        self._found = FoundUsage()
        for name, more in zip(BUCKETS, gained, strict=True):
            setattr(self._row, name, getattr(self._row, name) + more)

    def flush(self) -> None:
        """Store what was counted since the last flush."""
        usage, session_id = self._store.usage, self._row.id
        for reported in (False, True):
            usage.add(session_id, self._new[reported], session_id, reported=reported)
            usage.add(session_id, self._shared[reported], None, reported=reported)
        for row_id, larger in self._larger:
            usage.replace(row_id, larger)
        for row_id, seq in self._moved:
            usage.move(row_id, seq)
        self.has_turns |= store_turns(self._store, self._row, self._turns)
        self._begin()

    def settle_reports(self) -> None:
        """For responses that were both logged and reported, decide which rows count."""
        if self._reported:
            self.changed |= settle_reports(self._store, self._reported, [self._row])
            self._reported = set()

    def note_again(self) -> None:
        """Let `note_shared_ids` check all stored responses of the session again."""
        self._shared_ids.update(self._store.response_ids.shared_by(self._row.id))

    def note_shared_ids(self, now: int) -> None:
        """Store a problem for responses that have the id of another session's response."""
        if self._shared_ids:
            written = self.changed | {self._row.id}
            note_shared_ids(self._store, self._shared_ids, written, now)
            self._shared_ids = set()

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
            native.reported_cost,
        )


class _Same:
    """Finds the rows of other sessions that are responses of new records of a session.

    ``holders`` are sessions that hold some of the records too.
    """

    def __init__(
        self, store: Store, row: CollectedSession, records: list[Record], holders: set[int]
    ) -> None:
        self._store = store
        self._row = row
        self._records = records
        self._holders = holders

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self._records)

    @cached_property
    def _relatives(self) -> set[int]:
        """The sessions that share records with this one."""
        if not self._row.has_shared:
            return self._holders
        return self._holders.union(connected_sessions(self._store, self._row.id))

    def is_logged_here(self, usage: StoredUsage) -> bool:
        if usage.session_id in self._relatives:
            return True
        return self._lines.may_be_of(self._store, usage)

    def candidates(self, flavor: str, keys: list[int]) -> list[StoredUsage]:
        """Rows of other sessions that may be the same response as a new record of this session.
        Called when an id has many rows."""
        times = times_of(flavor, self._records)
        near = self._relatives.union(self._store.sessions.family(self._row.uid))
        rows = rows_nearby(self._store, keys, times, near)
        return [usage for usage in rows if usage.session_id != self._row.id]
