"""The entry point of settling: routes the records of one session to the parts, in order."""

from session_memory.adapters.agent import Agent
from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.event_text import event_text
from session_memory.derive.settle.calls import CallSettling
from session_memory.derive.settle.chain import ParentChain
from session_memory.derive.settle.earlier import EarlierEvents
from session_memory.derive.settle.rewinds import Rewinds
from session_memory.derive.settle.session_facts import (
    begin_turn,
    end_turn,
    note_facts,
    note_session,
    note_time,
)
from session_memory.derive.settle.settled_rows import SettledRows
from session_memory.derive.settle.state import SettleState
from session_memory.derive.settle.turns import TASK, TurnSettling
from session_memory.store.event_rows import EventRow


class Settling:
    """Settles the records of one session, in their order."""

    def __init__(
        self,
        state: SettleState,
        earlier: EarlierEvents,
        agent: Agent,
        *,
        is_subagent: bool = False,
    ) -> None:
        self.state = state
        self.settled = SettledRows()
        self._chain = ParentChain(state, self.settled, earlier)
        self._rewinds = Rewinds(state, self.settled, earlier)
        self._calls = CallSettling(state, self.settled, earlier, agent)
        self._turns = TurnSettling(state, self.settled, is_subagent=is_subagent)

    @property
    def usage_seq(self) -> int:
        """The seq of the event that the usage of the last record belongs to."""
        return self._turns.usage_seq

    def read_timeline(self, reads_timeline: bool) -> None:
        """Say whether the next records come from a timeline."""
        self._calls.reads_timeline = reads_timeline

    def state_to_save(self) -> SettleState:
        self._calls.save_keys()
        return self.state

    def settle(self, record: Record, source_id: int, owned: bool = True) -> list[EventRow]:
        """Return the event rows of one record, and update the state of the session.

        ``owned=False``: another session owns the record, so it adds nothing to the sums.
        """
        state = self.state
        if record.turns_undone or record.back_to_prompt is not None or record.base is not None:
            self._rewinds.go_back(record)
        if record.stands_at is not None:
            self._chain.move_head(record.stands_at)
        parent = state.head if record.follows else self._chain.parent_of(record)
        note_session(state, record)
        if record.facts:
            note_facts(state, record, self._chain)
        for outcome in record.outcomes:
            self._calls.settle_outcome(outcome)
        if record.usage is not None:
            self._turns.settle_usage(record, record.usage)
        if not record.events:
            if record.continues:
                self._turns.extend_message(record, source_id)
            else:
                self._chain.append_hidden(record, parent)
            return []
        if owned and record.ts is not None:
            note_time(state, record.ts)
        rows = self._rows(record, source_id, parent, owned)
        if not rows:
            # The record has no rows, because all its events repeat earlier ones.
            self._chain.append_hidden(record, parent)
            return []
        self._chain.append(record, state.next_seq - 1)
        if record.follows:
            self._turns.open_message(record, rows[-1], owned)
        return rows

    def _rows(
        self, record: Record, source_id: int, parent: int | None, owned: bool
    ) -> list[EventRow]:
        """One row for each event of the record that is not repeated.

        ``parent`` is the parent of the first event. In a record with an id, the parent of each
        other event is the event before it. Without an id, all events have the same parent.
        """
        state, turns, new_rows = self.state, self._turns, self.settled.rows
        rows = []
        for block, event in enumerate(record.events):
            if event.is_repeated:
                continue
            seq = state.next_seq
            state.next_seq = seq + 1
            self._settle_event(record, event, parent, owned)
            row = row_of(record, event, block, seq, parent, source_id)
            if event.response_id is not None:
                turns.add_tokens(row, record.usage)
            elif event.model is not None and owned:
                turns.add_answer(seq)
            if event.is_prompt and record.follows:
                self._rewinds.add_prompt(row, record.ordinal)
            if state.completions:
                turns.reopen(record, event)
            if event.ends_turn:
                turns.complete(row)
            if owned:
                new_rows[seq] = row
                state.count(event)
            rows.append(row)
            if record.native_id:
                parent = seq
        return rows

    def _settle_event(
        self, record: Record, event: NativeEvent, parent: int | None, owned: bool
    ) -> None:
        state = self.state
        if event.native_kind == TASK and owned:
            self._turns.note_task(event.text)
        if event.role == "tool":
            self._calls.settle_result(record, event)
        elif event.call_id is not None:
            self._calls.settle_call(record, event, owned)
        elif event.is_prompt:
            self._settle_prompt(record, event, parent, owned)
        elif event.mode is not None:
            _settle_mode(state, event, event.mode)
        elif event.queued:
            self._turns.settle_queued(event, owned)
        elif event.kind == "completion" and owned:
            end_turn(state, event.duration_ms or 0)
        elif "retry" in event.marks and owned:
            state.retries += 1
        if event.is_interrupt:
            state.after_interrupt = True
        elif event.model is not None:
            state.after_interrupt = False
            if owned:
                state.model = event.model

    def _settle_prompt(
        self, record: Record, event: NativeEvent, parent: int | None, owned: bool
    ) -> None:
        state = self.state
        if not record.is_sidechain and parent is not None and parent != state.head:
            self.settled.branches_changed = state.branched = True
        if record.native_id is None and not state.head_is_logged:
            # Without an id, this record cannot be the parent of another record. So the next prompt
            # may have the same parent as this one.
            state.head = None
        was_interrupted = state.after_interrupt
        self._turns.settle_prompt(event, owned)
        # A prompt while the agent works is a part of the turn. A prompt after an interrupt begins
        # another turn.
        if owned and (was_interrupted or event.kind != "human_intervention"):
            begin_turn(state)


def _settle_mode(state: SettleState, event: NativeEvent, mode: str) -> None:
    """Make a change of the agent's mode a decision of a person. The first mode is no decision."""
    before = state.modes.get(event.native_kind)
    if before is not None and before != mode:
        event.kind = "decision"
    state.modes[event.native_kind] = mode


def row_of(
    record: Record, event: NativeEvent, block: int, seq: int, parent: int | None, source_id: int
) -> EventRow:
    """The row of a settled event, before its tokens and its branch are known."""
    # This is the one place that makes rows. The arguments are in the order of the fields, without
    # names: with names, this call would cost ten times as much, 3 % of a first sync. A test
    # compares every field by name.
    return EventRow(
        seq,
        record.ts,
        event.kind,
        ",".join(event.marks) if event.marks else "",
        event.role,
        event.tool,
        event.native_kind,
        event.model,
        parent,
        None,  # branch
        event.summary,
        source_id,
        record.offset,
        record.length,
        record.key,
        block,
        event.call_id,
        event.response_id,
        event.path,
        0,  # tokens
        record.is_sidechain,
        event.is_error,
        event.duration_ms,
        event.exit_code,
        event_text(event),
    )
