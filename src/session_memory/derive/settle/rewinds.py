"""Handle prompts that a person took back, with everything that followed them.

The events stay in the store. They are marked as an abandoned branch.
"""

from session_memory.adapters.base import Record
from session_memory.derive.settle.earlier import EarlierEvents
from session_memory.derive.settle.settled_rows import SettledRows
from session_memory.derive.settle.state import PathPrompt, SettleState
from session_memory.store.event_rows import EventRow
from session_memory.store.record_keys import event_uid

# The number of prompts that are saved with the session; earlier ones are looked up in the store.
PROMPTS_SAVED = 200


class Rewinds:
    """Remembers the prompts on the path and goes back to one of them."""

    def __init__(self, state: SettleState, settled: SettledRows, earlier: EarlierEvents) -> None:
        self._state = state
        self._settled = settled
        self._earlier = earlier

    def add_prompt(self, row: EventRow, ordinal: int | None) -> None:
        state = self._state
        uid = event_uid(row.record, row.block)
        state.prompts.append(PathPrompt(row.seq, row.parent_seq, uid, ordinal))
        while len(state.prompts) > PROMPTS_SAVED:
            del state.prompts[0]
            state.prompts_forgotten += 1

    def go_back(self, record: Record) -> None:
        """Take back the prompts that a record undoes, with all events after the first of them."""
        state = self._state
        saved = len(state.prompts)
        kept = self._prompts_kept(record)
        if kept < 0 and state.prompts_forgotten:
            self._load_prompts()
            kept += len(state.prompts) - saved
        if not state.prompts or kept >= len(state.prompts):
            return
        first = state.prompts[max(kept, 0)]
        del state.prompts[max(kept, 0) :]
        self._settled.undo(first.seq, state.next_seq, first.uid)
        state.head = first.parent

    def _prompts_kept(self, record: Record) -> int:
        """How many of the saved prompts stay; negative when earlier ones are undone as well."""
        state, base = self._state, record.base
        if record.back_to_prompt is not None:
            return record.back_to_prompt - state.prompts_forgotten
        kept = len(state.prompts) - record.turns_undone
        if base is None or base.session != record.session:
            return kept
        # A second file of the session continues from a point before the end of the first file.
        for number, prompt in enumerate(state.prompts):
            if prompt.ordinal is not None and prompt.ordinal >= base.ordinal:
                return number
        return kept

    def _load_prompts(self) -> None:
        """Load the prompts on the path that are no longer saved with the session."""
        state = self._state
        oldest = state.prompts[0].seq if state.prompts else state.next_seq
        fresh = [
            PathPrompt(row.seq, row.parent_seq, event_uid(row.record, row.block))
            for row in self._settled.rows.values()
            if row.branch is None and "user_msg" in (row.kind, *row.marks.split(","))
        ]
        earlier = [prompt for prompt in (*self._earlier.prompts(), *fresh) if prompt.seq < oldest]
        loaded = earlier[-state.prompts_forgotten :]
        state.prompts = [*loaded, *state.prompts]
        state.prompts_forgotten -= len(loaded)
