"""What an event is can depend on the events before it: one pure step over a session, in order.

``settle`` folds records into a small, bounded ``State`` that is saved with the session, so a line
appended tomorrow is settled exactly as if it had been read today. It never looks at the clock and
never at the database, except through the two look-ups it is handed.
"""

from collections.abc import Callable

import msgspec

from session_memory.adapters.base import CallOutcome, NativeEvent, NativeUsage, Record
from session_memory.adapters.detectors import call_key, test_result
from session_memory.adapters.words import words_of
from session_memory.core.text import SUMMARY, one_line
from session_memory.store.events import EventRow, event_uid

OPEN_CALLS = 256
FAILED_TOOLS = 16
FAILED_CALLS = 32
RECENT_RESPONSES = 3
PARALLEL_RESPONSES = 8
HIDDEN_RECORDS = 8
PENDING_SUMMARIES = 32
# A second log is read as a whole before the first, so all its outcomes may have to wait.
PENDING_OUTCOMES = 50_000
LONGEST_CALL_ID = 200
PROMPTS_TO_GO_BACK_TO = 200
ANSWERS = 64
IDLE_MS = 30 * 60 * 1000
TITLE = 80
# Tools through which the agent asks a person; the result is that person's decision.
DECISION_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode", "request_user_input"})
PLAN_TOOLS = frozenset({"ExitPlanMode"})


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    tool: str | None
    key: int | None
    ts: int | None
    is_shell: bool
    is_test: bool
    is_edit: bool
    seq: int = 0


class Response(msgspec.Struct, array_like=True, gc=False):
    id: str
    seq: int
    output: int


class Prompt(msgspec.Struct, array_like=True, gc=False):
    """A prompt on the session's path, and what came before it."""

    seq: int
    parent: int | None
    uid: str
    ordinal: int | None = None


class Message(msgspec.Struct, array_like=True, gc=False):
    """The last event and where its record ends; more of it may follow there."""

    seq: int
    source_id: int
    place: int
    end: int
    text: str


class StoredResult(msgspec.Struct, gc=False):
    """As much of an earlier result as a late outcome may change."""

    seq: int
    kind: str
    marks: str
    is_error: bool
    exit_code: int | None


class Completion(msgspec.Struct, array_like=True, gc=False):
    """The answer that ends the turn unless more follows, and its marks without that."""

    seq: int
    marks: str


class State(msgspec.Struct, array_like=True):
    """All that the next record of a session needs to know about the ones before it."""

    next_seq: int = 0
    head: int | None = None
    open_calls: dict[str, OpenCall] = {}
    failed: dict[str, dict[int, bool]] = {}
    responses: list[Response] = []
    completions: dict[bool, Completion] = {}
    after_interrupt: bool = False
    modes: dict[str, str] = {}
    hidden: list[tuple[str, int | None]] = []
    custom_title: str | None = None
    ai_title: str | None = None
    agent_name: str | None = None
    summary: str | None = None
    summaries: list[tuple[str, str]] = []
    first_prompt: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    agent_version: str | None = None
    model: str | None = None
    first_ts: int | None = None
    last_ts: int | None = None
    turn_ms: int = 0
    active_ms: int = 0
    turns: int = 0
    retries: int = 0
    event_count: int = 0
    branched: bool = False
    side_responses: list[Response] = []
    last_prompt: int = 0
    prompts: list[Prompt] = []
    prompts_forgotten: int = 0
    answers: list[int] = []
    outcomes: dict[str, CallOutcome] = {}
    message: Message | None = None
    is_told: bool = False

    def title(self, told: str | None) -> str | None:
        """The name a person gave, else the agent's, else the first thing that was asked."""
        return (
            self.custom_title
            or self.ai_title
            or self.agent_name
            or told
            or self.summary
            or self.first_prompt
        )

    @property
    def wall_clock_ms(self) -> int:
        return self.turn_ms or self.active_ms


class Settling:
    """Settles the records of one session, in their order; collects rows and amendments.

    ``seq_of`` finds the seq of an earlier record's last event by native id; ``is_left`` tells
    whether a stored event lies on an abandoned branch; ``result_of`` finds the stored result of a
    call, ``prompts`` all stored prompts on the path. In a subagent's session nobody but its parent
    prompts.
    """

    def __init__(
        self,
        state: State,
        seq_of: Callable[[str], int | None],
        is_left: Callable[[int], bool] = lambda seq: False,
        result_of: Callable[[str], StoredResult | None] = lambda call_id: None,
        prompts: Callable[[], list[Prompt]] = list,
        *,
        is_subagent: bool = False,
    ) -> None:
        self.state = state
        self.rows: dict[int, EventRow] = {}
        self.amended: dict[int, dict[str, object]] = {}
        self.undone: list[tuple[int, int, str]] = []
        self.reworded: set[int] = set()
        self.turned_back = False
        self.is_upset = False
        self.reads_timeline = False
        self.answered = 0
        self._seq_of = seq_of
        self._is_left = is_left
        self._result_of = result_of
        self._prompts = prompts
        self._is_subagent = is_subagent
        self._recent: dict[str, int] = {}
        self._asked: dict[str, object] = {}
        self._results: dict[str, int] = {}

    def settled_state(self) -> State:
        """The state to save. A call that is still open takes its key along."""
        for call_id, call in self.state.open_calls.items():
            self._key_of(call_id, call)
        return self.state

    def _key_of(self, call_id: str, call: OpenCall) -> int:
        """What the call asked, as a number; worked out only when a call failed or stays open."""
        if call.key is None:
            call.key = call_key(call.tool or "", self._asked.pop(call_id, None))
        return call.key

    def settle(self, record: Record, source_id: int, owned: bool = True) -> list[EventRow]:
        """The rows of one record. One that is not ``owned`` shapes the state and counts nothing."""
        state = self.state
        if record.turns_undone or record.back_to_prompt is not None or record.base is not None:
            self._go_back(record)
        if record.stands_at is not None:
            self._stand_at(record.stands_at)
        parent = state.head if record.follows else self._parent(record)
        self._remember_session(record)
        if record.facts:
            self._remember_titles(record)
        for outcome in record.outcomes:
            self._learn(outcome)
        if record.usage is not None:
            self.answered = max(state.next_seq + len(record.events) - 1, 0)
            if not record.events or record.events[0].kind == "completion":
                self._answered(record)
        if not record.events:
            if record.continues:
                self._continue(record, source_id)
            elif record.native_id and not record.follows:
                state.hidden = [*state.hidden, (record.native_id, parent)][-HIDDEN_RECORDS:]
            return []
        if owned:
            self._clock(record)
        rows = []
        for block, event in enumerate(record.events):
            seq = state.next_seq
            state.next_seq = seq + 1
            self._settle_event(record, event, parent, owned)
            row = _row(record, event, block, seq, parent, source_id)
            if event.response_id is not None:
                self._tokens(row, record.usage)
            elif event.model is not None and owned:
                state.answers = [*state.answers, seq][-ANSWERS:]
            if event.is_prompt and record.follows:
                self._remember_prompt(row, record.ordinal)
            if state.completions:
                self._see_turn(record, event)
            if event.ends_turn:
                self._may_complete(row, record.is_sidechain)
            if owned:
                self.rows[seq] = row
                state.event_count += 1
            rows.append(row)
            if record.native_id:
                parent = seq
        if record.native_id:
            last = state.next_seq - 1
            self._recent[record.native_id] = last
            if not record.is_sidechain:
                state.head = last
        if record.follows:
            end = record.offset + record.length
            last_row = rows[-1]
            state.message = (
                Message(last_row.seq, source_id, record.offset, end, last_row.summary)
                if owned
                else None
            )
        return rows

    # ------------------------------------------------------------ the chain

    def _parent(self, record: Record) -> int | None:
        parent_id = record.parent_id
        if parent_id is None:
            return None
        parent = self._recent.get(parent_id)
        if parent is None:
            for hidden, seq in self.state.hidden:
                if hidden == parent_id:
                    parent = seq
                    break
            else:
                parent = self._seq_of(parent_id)
            if self.state.branched and parent is not None and self._is_left(parent):
                # A branch that was left behind goes on.
                self.turned_back = True
        return parent

    def _remember_prompt(self, row: EventRow, ordinal: int | None) -> None:
        state = self.state
        uid = event_uid(row.record, row.block)
        state.prompts.append(Prompt(row.seq, row.parent_seq, uid, ordinal))
        while len(state.prompts) > PROMPTS_TO_GO_BACK_TO:
            del state.prompts[0]
            state.prompts_forgotten += 1

    def _go_back(self, record: Record) -> None:
        """What came after a prompt was undone by the person, with the prompt; it stays, marked."""
        state = self.state
        known = len(state.prompts)
        kept = known - record.turns_undone
        if record.back_to_prompt is not None:
            kept = record.back_to_prompt - state.prompts_forgotten
        elif record.base is not None:
            # A second file of the session, which goes on from before what the first one ends with.
            again = record.base.session == record.session
            later = (
                p.ordinal is not None and p.ordinal >= record.base.ordinal for p in state.prompts
            )
            kept = next((n for n, is_later in enumerate(later) if again and is_later), kept)
        if kept < 0 and state.prompts_forgotten:
            self._remember_all()
            kept += len(state.prompts) - known
        if not state.prompts or kept >= len(state.prompts):
            return
        first = state.prompts[max(kept, 0)]
        del state.prompts[max(kept, 0) :]
        self.undone.append((first.seq, state.next_seq - 1, first.uid))
        for seq in range(first.seq, state.next_seq):
            row = self.rows.get(seq)
            if row is not None and row.branch is None:
                row.branch = first.uid
        state.head = first.parent

    def _remember_all(self) -> None:
        """Back to before what we remember: every prompt on the path again, out of the store."""
        state = self.state
        oldest = state.prompts[0].seq if state.prompts else state.next_seq
        fresh = [
            Prompt(row.seq, row.parent_seq, event_uid(row.record, row.block))
            for row in self.rows.values()
            if row.branch is None and "user_msg" in (row.kind, *row.marks.split(","))
        ]
        earlier = [prompt for prompt in (*self._prompts(), *fresh) if prompt.seq < oldest]
        forgotten = earlier[-state.prompts_forgotten :]
        state.prompts = [*forgotten, *state.prompts]
        state.prompts_forgotten -= len(forgotten)

    def _stand_at(self, native_id: str) -> None:
        """The session itself says where it goes on; nothing has to be inferred from prompts."""
        state = self.state
        found = self._recent.get(native_id)
        if found is None and native_id:
            found = self._seq_of(native_id)
        state.head = found
        state.is_told = state.branched = self.turned_back = True

    def _continue(self, record: Record, source_id: int) -> None:
        """More of the last message: its event reaches on to the end of this record."""
        message = self.state.message
        if message is None or (message.source_id, message.end) != (source_id, record.offset):
            return
        message.end = record.offset + record.length
        row = self.rows.get(message.seq)
        if row is None:
            self.reworded.add(message.seq)
        else:
            row.words += record.text
        self._amend(message.seq, "length", message.end - message.place)
        if len(message.text) < SUMMARY:
            message.text = one_line(message.text + record.text)
            self._amend(message.seq, "summary", message.text)

    def _settle_event(
        self, record: Record, event: NativeEvent, parent: int | None, owned: bool
    ) -> None:
        state = self.state
        if event.role == "tool":
            self._settle_result(record, event)
        elif event.call_id is not None:
            self._settle_call(record, event, owned)
        elif event.is_prompt:
            if not record.is_sidechain and parent is not None and parent != state.head:
                self.turned_back = state.branched = True
            if record.native_id is None:
                # Nothing can hang on it, so the next prompt may be its sibling.
                state.head = None
            self._settle_prompt(event, owned)
        elif event.mode is not None:
            before = state.modes.get(event.native_kind)
            if before is not None and before != event.mode:
                event.kind = "decision"
            state.modes[event.native_kind] = event.mode
        elif event.kind == "completion" and owned:
            state.turn_ms += event.duration_ms or 0
        elif "retry" in event.marks and owned:
            state.retries += 1
        if event.is_interrupt:
            state.after_interrupt = True
        elif event.model is not None:
            state.after_interrupt = False
            if owned:
                state.model = event.model

    # ------------------------------------------------------------ calls and results

    def _settle_call(self, record: Record, event: NativeEvent, owned: bool) -> None:
        state = self.state
        kinds = (event.kind, *event.marks)
        call_id = event.call_id or ""
        call = OpenCall(
            event.tool,
            None,
            record.ts,
            event.is_shell,
            "test_run" in kinds,
            "edit" in kinds,
            state.next_seq,
        )
        self._asked[call_id] = event.arguments
        failed = state.failed.get(event.tool or "")
        if failed and self._key_of(call_id, call) in failed:
            event.kind, event.marks = "retry", kinds
            if owned:
                state.retries += 1
        _bounded(state.open_calls, OPEN_CALLS)[call_id] = call

    def _settle_result(self, record: Record, event: NativeEvent) -> None:
        state = self.state
        call_id = event.call_id or ""
        self._results[call_id] = state.next_seq - 1
        if call_id in state.outcomes:
            _tell(event, state.outcomes.pop(call_id))
        call = state.open_calls.pop(call_id, None) if call_id else None
        if call is None:
            return
        event.tool = call.tool
        if call.is_shell and event.is_shell and not event.is_error and event.exit_code is None:
            event.exit_code = 0
        if event.duration_ms is None and record.ts is not None and call.ts is not None:
            event.duration_ms = max(record.ts - call.ts, 0)
        if call.is_test:
            _judge_test(event)
        if call.tool in DECISION_TOOLS:
            _mark_decision(event, is_plan=call.tool in PLAN_TOOLS)
        tool = call.tool or ""
        failed = state.failed.get(tool)
        if event.is_error:
            if failed is None:
                failed = _bounded(state.failed, FAILED_TOOLS)[tool] = {}
            _bounded(failed, FAILED_CALLS)[self._key_of(call_id, call)] = call.is_test
            return
        if failed:
            failed.pop(self._key_of(call_id, call), None)
        self._asked.pop(call_id, None)
        if call.is_edit and state.failed:
            # Running the tests again after an edit is verification, not a retry.
            for name, calls in state.failed.items():
                state.failed[name] = {key: test for key, test in calls.items() if not test}

    def _learn(self, outcome: CallOutcome) -> None:
        """A result that is stored already is amended; one that is yet to come will be told."""
        stored = self._stored_result(outcome.call_id)
        if stored is None:
            if len(outcome.call_id) <= LONGEST_CALL_ID:
                _bounded(self.state.outcomes, PENDING_OUTCOMES)[outcome.call_id] = outcome
            return
        marks = tuple(filter(None, stored.marks.split(",")))
        event = NativeEvent(stored.kind, "tool", marks=marks, is_error=stored.is_error)
        event.exit_code = stored.exit_code
        _tell(event, outcome)
        # An error changes what later calls are; from another file it must be known before them.
        self.is_upset |= self.reads_timeline and event.is_error != stored.is_error
        self._amend(stored.seq, "kind", event.kind)
        self._amend(stored.seq, "marks", ",".join(event.marks))
        self._amend(stored.seq, "is_error", event.is_error)
        self._amend(stored.seq, "exit_code", event.exit_code)
        if outcome.duration_ms is not None:
            self._amend(stored.seq, "duration_ms", outcome.duration_ms)

    def _stored_result(self, call_id: str) -> StoredResult | None:
        if call_id in self.state.open_calls:
            return None
        row = self.rows.get(self._results.get(call_id, -1))
        if row is not None:
            return StoredResult(row.seq, row.kind, row.marks, row.is_error, row.exit_code)
        return self._result_of(call_id)

    def _settle_prompt(self, event: NativeEvent, owned: bool) -> None:
        state = self.state
        state.answers = []
        if self._is_subagent:
            event.kind, event.marks, event.is_prompt = "lifecycle", (), False
            if state.first_prompt is None and event.text:
                state.first_prompt = one_line(event.text, TITLE)
            return
        working = any(call.seq >= state.last_prompt for call in state.open_calls.values())
        if (state.after_interrupt or working) and event.kind == "user_msg":
            event.kind, event.marks = "human_intervention", ("user_msg", *event.marks)
        state.after_interrupt = False
        state.last_prompt = state.next_seq
        if owned:
            state.turns += 1
        if state.first_prompt is None and event.text:
            state.first_prompt = one_line(event.text, TITLE)

    # ------------------------------------------------------------ responses and turns

    def _tokens(self, row: EventRow, usage: NativeUsage | None) -> None:
        """A response's output stands on its last block; an earlier block hands it on."""
        output = usage.output_tokens if usage is not None else 0
        # Subagents inside a session answer in parallel, the session itself one at a time.
        lane = row.is_sidechain
        responses = self.state.side_responses if lane else self.state.responses
        for response in responses:
            if response.id == row.response_id:
                output = max(output, response.output)
                self._amend(response.seq, "tokens", 0)
                response.seq, response.output = row.seq, output
                break
        else:
            responses.append(Response(row.response_id or "", row.seq, output))
            if len(responses) > (PARALLEL_RESPONSES if lane else RECENT_RESPONSES):
                del responses[0]
        row.tokens = output

    def _answered(self, record: Record) -> None:
        """What the answers since the last time used, told by a record of its own."""
        usage, answers = record.usage, self.state.answers
        if usage is None or not answers:
            return
        for seq in answers:
            self._amend(seq, "response_id", usage.usage_id)
        self._amend(answers[-1], "tokens", usage.output_tokens)
        self.answered, self.state.answers = answers[-1], []

    def _may_complete(self, row: EventRow, lane: bool) -> None:
        self.state.completions[lane] = Completion(row.seq, row.marks)
        row.marks = f"{row.marks},completion" if row.marks else "completion"

    def _see_turn(self, record: Record, event: NativeEvent) -> None:
        """More from the agent, or its own record of the end: the last answer did not end it."""
        if (event.role in ("assistant", "tool") and event.kind != "lifecycle") or (
            event.kind == "completion"
        ):
            completion = self.state.completions.pop(record.is_sidechain, None)
            if completion is not None:
                self._amend(completion.seq, "marks", completion.marks)
        elif event.is_prompt:
            self.state.completions.pop(record.is_sidechain, None)

    def _amend(self, seq: int, column: str, value: object) -> None:
        row = self.rows.get(seq)
        if row is not None:
            setattr(row, column, value)
        else:
            self.amended.setdefault(seq, {})[column] = value

    # ------------------------------------------------------------ the session's own facts

    def _remember_session(self, record: Record) -> None:
        state = self.state
        if state.cwd is None:
            state.cwd = record.cwd
        if record.git_branch:
            state.git_branch = record.git_branch
        if record.agent_version:
            state.agent_version = record.agent_version
        if state.summaries and record.native_id:
            for leaf, summary in state.summaries:
                if leaf == record.native_id:
                    state.summary = summary

    def _remember_titles(self, record: Record) -> None:
        state, facts = self.state, record.facts or {}
        for name in ("custom_title", "ai_title", "agent_name"):
            if facts.get(name):
                setattr(state, name, one_line(facts[name]))
        if facts.get("summary") and facts.get("leaf"):
            leaf, summary = facts["leaf"], one_line(facts["summary"])
            if leaf in self._recent or self._seq_of(leaf) is not None:
                state.summary = summary
            else:
                state.summaries = [*state.summaries, (leaf, summary)][-PENDING_SUMMARIES:]

    def _clock(self, record: Record) -> None:
        state, ts = self.state, record.ts
        if ts is None:
            return
        if state.first_ts is None or ts < state.first_ts:
            state.first_ts = ts
        if state.last_ts is None:
            state.last_ts = ts
        elif ts > state.last_ts:
            gap = ts - state.last_ts
            if gap <= IDLE_MS:
                state.active_ms += gap
            state.last_ts = ts


def _row(
    record: Record, event: NativeEvent, block: int, seq: int, parent: int | None, source_id: int
) -> EventRow:
    """A settled block as it is stored; where its branch and tokens end up is yet to be seen."""
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
        None,
        event.summary,
        source_id,
        record.offset,
        record.length,
        record.key,
        block,
        event.call_id,
        event.response_id,
        event.path,
        0,
        record.is_sidechain,
        event.is_error,
        event.duration_ms,
        event.exit_code,
        words_of(event),
    )


def _bounded(entries: dict, most: int) -> dict:  # type: ignore[type-arg]
    """Room for one more: the oldest entry goes when there are too many."""
    if len(entries) >= most:
        del entries[next(iter(entries))]
    return entries


def _tell(event: NativeEvent, outcome: CallOutcome) -> None:
    """Add to a result what another record says about its call."""
    if outcome.exit_code is not None:
        event.exit_code = outcome.exit_code
    if outcome.duration_ms is not None:
        event.duration_ms = outcome.duration_ms
    if outcome.is_error and not event.is_error:
        event.is_error, event.kind, event.marks = True, "error", ("tool_result", *event.marks)
    new = (mark for mark in outcome.marks if mark not in (event.kind, *event.marks))
    event.marks = (*event.marks, *new)


def _judge_test(event: NativeEvent) -> None:
    """Counts in the text first, then the exit status: a piped failure is a failure."""
    verdict = test_result(event.text, is_error=event.is_error, exit_code=event.exit_code)
    if verdict is None:
        return
    if verdict.line:
        event.summary = verdict.line
    if verdict.passed is False and not event.is_error:
        event.is_error, event.kind, event.marks = True, "error", ("tool_result", *event.marks)


def _mark_decision(event: NativeEvent, *, is_plan: bool) -> None:
    # "Clear the context and start" is logged as a refused plan; only words make it a refusal.
    drop = {"decision", "human_intervention"} if is_plan and not event.has_words else {"decision"}
    event.marks = (*(mark for mark in event.marks if mark not in drop), "decision")


def left_behind(tree: list[tuple[int, int | None, bool, str]], head: int | None) -> dict[int, str]:
    """Which events do not lead to ``head``: seq to the event_uid of the first one left behind.

    ``tree`` holds ``(seq, parent_seq, is_leaf, event_uid)`` in order. A leaf is a remark beside the
    path: it is left behind with what it hangs on.
    """
    parents = {seq: parent for seq, parent, _, _ in tree}
    path: set[int] = set()
    while head is not None and head in parents and head not in path:
        path.add(head)
        head = parents[head]
    found: dict[int, str] = {}
    for seq, parent, is_leaf, uid in tree:
        if parent is not None and parent in found:
            found[seq] = found[parent]
        elif seq not in path and not is_leaf:
            found[seq] = uid
    return found


def branches(chain: list[tuple[int, int | None, bool, str]]) -> dict[int, str]:
    """Which events lie on an abandoned branch: seq to the event_uid of the prompt it began with.

    ``chain`` holds ``(seq, parent_seq, is_prompt, event_uid)`` in order. Where one event has
    several prompts as children, the one whose descendants reach furthest stays; the person left
    the others behind.
    """
    furthest: dict[int, int] = {}
    parents = {seq: parent for seq, parent, _, _ in chain}
    for seq, _, _, _ in reversed(chain):
        furthest[seq] = max(furthest.get(seq, seq), seq)
        parent = parents[seq]
        if parent is not None and parent < seq:
            furthest[parent] = max(furthest.get(parent, parent), furthest[seq])
    prompts: dict[int, list[int]] = {}
    for seq, parent, is_prompt, _ in chain:
        if is_prompt and parent is not None:
            prompts.setdefault(parent, []).append(seq)
    left: set[int] = set()
    for children in prompts.values():
        if len(children) > 1:
            kept = max(children, key=lambda child: furthest[child])
            left.update(child for child in children if child != kept)
    found: dict[int, str] = {}
    for seq, parent, _, uid in chain:
        if seq in left:
            found[seq] = uid
        elif parent is not None and parent in found and parent < seq:
            found[seq] = found[parent]
    return found
