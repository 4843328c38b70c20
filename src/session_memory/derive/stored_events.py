"""The stored events of one session, as settling asks for them."""

from session_memory.adapters.base import Record
from session_memory.derive.settle import PathPrompt, StoredResult
from session_memory.store.record_keys import record_key
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store


class NoEvents:
    """Used instead of `StoredEvents` when a whole session is settled at once. It finds nothing,
    because the stored events of the session will be replaced."""

    def last_seq(self, native_id: str) -> int | None:
        return None

    def is_abandoned(self, seq: int) -> bool:
        return False

    def expect_outcomes(self, records: list[Record]) -> None: ...

    def result_of(self, call_id: str) -> StoredResult | None:
        return None

    def prompts(self) -> list[PathPrompt]:
        return []


class StoredEvents:
    """Answers what `Settling` asks about the stored events of its session.

    It holds no reference to `Settling`: the garbage collector is off during a sync, so a cycle
    would keep every row in memory.
    """

    def __init__(self, store: Store, row: CollectedSession, *, has_variants: bool = False) -> None:
        self._store = store
        self._row = row
        self._has_variants = has_variants
        self._variants: dict[bytes, int] | None = None
        self._call_ids: set[str] = set()
        self._results: dict[str, StoredResult] | None = {}

    def last_seq(self, native_id: str) -> int | None:
        key = record_key(native_id)
        seq = self._store.events.seq_of(self._row.id, key)
        if not self._has_variants:
            return seq
        if self._variants is None:
            self._variants = self._store.events.variants_of(self._row.id)
        # Of several records with the same id, the first one has the children.
        found = [one for one in (seq, self._variants.get(key)) if one is not None]
        return min(found, default=None)

    def is_abandoned(self, seq: int) -> bool:
        return self._store.events.branch_of(self._row.id, seq) is not None

    def expect_outcomes(self, records: list[Record]) -> None:
        """Prepare for the outcomes in a batch: their calls are looked up together."""
        self._call_ids = {outcome.call_id for record in records for outcome in record.outcomes}
        self._results = None

    def result_of(self, call_id: str) -> StoredResult | None:
        if self._results is None:
            events, session = self._store.events, self._row.id
            found = events.results_of(session, self._call_ids) if session else {}
            self._results = {call: StoredResult(*result) for call, result in found.items()}
        return self._results.get(call_id)

    def prompts(self) -> list[PathPrompt]:
        if not self._row.id:
            return []
        return [PathPrompt(*prompt) for prompt in self._store.events.prompts_of(self._row.id)]
