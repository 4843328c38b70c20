"""Decide which logged responses are the same response.

The id alone does not tell. Providers give unique ids, but local model servers number their
responses, so unrelated sessions have the same ones (`chatcmpl-1`). Two responses with one id are
the same if

- their sessions share records, as forks and resumed sessions do, or
- their times and all their counts of tokens are equal, as in a copy whose records got new ids, or
- their counts of input tokens are equal (uncached, read from the cache, written to the cache), and
  one session is a subagent ``<parent>:<name>`` of the other, or both have the same parent: the log
  of such a subagent may begin with a response of its parent, or
- their counts of input tokens are equal, and one session is evicted: its records cannot be
  compared any more.

Each other response counts for its own session.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from session_memory.adapters.base import Record
from session_memory.derive.found_usage import usage_in
from session_memory.derive.owners import positions
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, StoredUsage


class Lines:
    """Hashes of the responses in lines of logs, to compare them with rows of other sessions.

    Only hashes are kept, because thousands of forks may have the same lines.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._equals: set[int] = set()
        self._inputs: set[int] = set()
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        for used in usage_in(record):
            response = used.usage_id, used.is_reported
            counts = used.input_tokens, used.cache_read_tokens, used.cache_write_tokens
            self._inputs.add(hash((response, counts)))
            self._inputs.add(hash((response, counts, family_of(record.session))))
            # If a turn includes its subagents, the stored figures are without them. So they never
            # equal those of the line.
            if record.ts is not None and not used.includes_subagents:
                buckets = tuple(getattr(used, name) for name in BUCKETS)
                self._equals.add(hash((response, record.ts, buckets)))

    def has_equal(self, usage: StoredUsage) -> bool:
        """Whether a line has the same counts of tokens at the same time."""
        return _identity(usage) in self._equals

    def may_be_of(self, store: Store, usage: StoredUsage) -> bool:
        """Whether a row of a session that shares no records may be the response of a line."""
        if self.has_equal(usage):
            return True
        response = usage.usage_id, usage.is_reported
        if hash((response, usage.input_counts)) not in self._inputs:
            return False
        row = store.sessions.row_by_id(usage.session_id)
        if row.evicted_at is not None:
            return True
        return hash((response, usage.input_counts, family_of(row.native_id))) in self._inputs


def family_of(native_id: str) -> str:
    """A text that is the same for a session and those of its subagents without own ids."""
    return native_id.partition(":")[0]


def usage_key(flavor: str, usage_id: str) -> int:
    """A 63-bit hash of a usage id, for the index. Rows with equal keys are compared by id."""
    digest = blake2b(f"{flavor}\0{usage_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def times_of(flavor: str, records: Iterable[Record]) -> set[tuple[int, int]]:
    """The key and the time of each response in records."""
    return {
        (usage_key(flavor, used.usage_id), record.ts)
        for record in records
        if record.ts is not None
        for used in usage_in(record)
    }


def rows_nearby(
    store: Store, keys: Iterable[int], times: Iterable[tuple[int, int]], sessions: Iterable[int]
) -> list[StoredUsage]:
    """Return the rows with these keys that may be the same response as another row.

    These are the rows of evicted sessions and of ``sessions``, and the rows with a key and time in
    ``times``.
    """
    wanted = set(keys)
    rows = store.usage.of_evicted(sorted(wanted))
    for key, ts in times:
        rows += store.usage.stored_at(key, ts) if key in wanted else ()
    for session_id in sessions:
        rows += [row for row in store.usage.logged_by(session_id) if row.usage_key in wanted]
    return rows


def _identity(usage: StoredUsage) -> int:
    return hash(((usage.usage_id, usage.is_reported), usage.ts, usage.buckets))


class SameResponses:
    """Groups rows of one response id in a cluster of sessions.

    ``sharing`` are sets of sessions that share records, as bit masks over their positions.
    """

    def __init__(self, rows: list[CollectedSession], sharing: Iterable[int], lines: Lines) -> None:
        self._lines = lines
        self._families = {row.id: family_of(row.native_id) for row in rows}
        self._relatives = {row.id: -1 - index for index, row in enumerate(rows)}
        for number, mask in enumerate(_connected(sharing)):
            for index in positions(mask):
                self._relatives[rows[index].id] = number

    def groups(self, rows: list[StoredUsage]) -> Iterator[list[StoredUsage]]:
        """Group the rows by response. Rows of a group stay in their order."""
        groups: list[tuple[set[int], list[StoredUsage]]] = []
        for usage in rows:
            marks, members, others = self._marks(usage), [usage], []
            for group in groups:
                if marks.isdisjoint(group[0]):
                    others.append(group)
                else:
                    marks, members = marks | group[0], group[1] + members
            groups = [*others, (marks, members)]
        return (members for _, members in groups)

    def _marks(self, usage: StoredUsage) -> set[int]:
        """The marks of a row. Rows with a common mark are the same response."""
        family = self._families[usage.session_id]
        marks = {self._relatives[usage.session_id], hash((family, usage.input_counts))}
        if self._lines.has_equal(usage):
            marks.add(_identity(usage))
        return marks


def _connected(masks: Iterable[int]) -> list[int]:
    """Sets of sessions, joined where they have a session in common."""
    found: list[int] = []
    for mask in set(masks):
        if mask & (mask - 1):
            apart = [other for other in found if not other & mask]
            for other in found:
                if other & mask:
                    mask |= other
            found = [*apart, mask]
    return found
