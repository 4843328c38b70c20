"""Settle tool calls and their results: find retries, failures, test runs, decisions.

A result says little by itself. Its tool, its duration and whether it was a test run come from its
call, which may have been read in an earlier sync.
"""

from session_memory.adapters.agent import Agent
from session_memory.adapters.base import CallOutcome, NativeEvent, Record
from session_memory.adapters.detectors import call_key, shell_text, test_result
from session_memory.adapters.detectors.commits import arrived, given_subjects, logged_commits
from session_memory.adapters.detectors.tasks import task_in_commit
from session_memory.core.text import one_line
from session_memory.derive.settle.earlier import EarlierEvents, StoredResult
from session_memory.derive.settle.settled_rows import SettledRows
from session_memory.derive.settle.state import OpenCall, SettleState, with_room
from session_memory.derive.title_texts import TITLE, says_something, title_of

OPEN_CALLS = 256
FAILED_TOOLS = 16
FAILED_CALLS = 32
# A timeline is read as a whole before the log, so all its outcomes may have to wait.
PENDING_OUTCOMES = 50_000
LONGEST_CALL_ID = 200


class CallSettling:
    """Connects calls with their results. ``reads_timeline``: the records come from a timeline."""

    def __init__(
        self, state: SettleState, settled: SettledRows, earlier: EarlierEvents, agent: Agent
    ) -> None:
        self.reads_timeline = False
        self._agent = agent
        self._state = state
        self._settled = settled
        self._earlier = earlier
        self._arguments: dict[str, object] = {}
        self._results: dict[str, int] = {}

    def save_keys(self) -> None:
        """Give every open call its key: its arguments are not saved with the session."""
        for call_id, call in self._state.open_calls.items():
            self._key_of(call_id, call)

    def _key_of(self, call_id: str, call: OpenCall) -> int:
        """The hash of a call's tool and arguments. Most calls succeed at once and never need it."""
        if call.key is None:
            call.key = call_key(call.tool or "", self._arguments.pop(call_id, None))
        return call.key

    def settle_call(self, record: Record, event: NativeEvent, owned: bool) -> None:
        """Remember a call. The same call after a failure is a retry."""
        state = self._state
        kinds = (event.kind, *event.marks)
        call_id = event.call_id or ""
        call = OpenCall(
            tool=event.tool,
            key=None,
            ts=record.ts,
            is_shell=event.is_shell,
            is_test="test_run" in kinds,
            is_edit="edit" in kinds,
            seq=state.next_seq,
        )
        if event.is_shell and owned and _may_commit(event.summary):
            self._note_commit(call, shell_text(event.tool or "", event.arguments) or "")
        if event.tool in self._agent.plan_tools:
            match event.arguments:
                case {"plan": str(plan)} if owned and says_something(plan):
                    call.plan = title_of(plan)
        self._arguments[call_id] = event.arguments
        failed = state.failed.get(event.tool or "")
        if failed and self._key_of(call_id, call) in failed:
            event.kind, event.marks = "retry", kinds
            if owned:
                state.retries += 1
        with_room(state.open_calls, OPEN_CALLS)[call_id] = call

    def _note_commit(self, call: OpenCall, command: str) -> None:
        state = self._state
        if "commit" not in command:
            return
        if state.task_commit is None:
            state.task_commit = task_in_commit(command)
        if state.commit is None:
            subjects = filter(says_something, given_subjects(command))
            call.commit = next(subjects, "" if "git" in command else None)

    def settle_result(self, record: Record, event: NativeEvent) -> None:
        """Complete a result with what its call and its outcome say."""
        state = self._state
        call_id = event.call_id or ""
        self._results[call_id] = state.next_seq - 1
        if call_id in state.outcomes:
            _apply(state.outcomes.pop(call_id), event)
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
        if call.commit is not None and state.commit is None:
            state.commit = _committed(event, call.commit)
        if call.tool in self._agent.decision_tools:
            _mark_decision(event, is_plan=call.tool in self._agent.plan_tools)
        if call.plan and "human_intervention" not in event.marks:
            state.planned, state.is_carried_out = call.plan, False
        elif call.is_edit and not event.is_error:
            state.is_carried_out = True
        self._note_failure(call_id, call, event)

    def _note_failure(self, call_id: str, call: OpenCall, event: NativeEvent) -> None:
        """Remember a failed call, or forget that it failed once it has succeeded."""
        state, tool = self._state, call.tool or ""
        failed = state.failed.get(tool)
        if event.is_error:
            if failed is None:
                failed = with_room(state.failed, FAILED_TOOLS)[tool] = {}
            with_room(failed, FAILED_CALLS)[self._key_of(call_id, call)] = call.is_test
            return
        if failed:
            failed.pop(self._key_of(call_id, call), None)
        self._arguments.pop(call_id, None)
        if call.is_edit and state.failed:
            # Running the tests again after an edit is verification, not a retry.
            for name, calls in state.failed.items():
                state.failed[name] = {key: test for key, test in calls.items() if not test}

    def settle_outcome(self, outcome: CallOutcome) -> None:
        """Change the result that an outcome belongs to, or keep the outcome until the result
        comes."""
        stored = self._stored_result(outcome.call_id)
        if stored is None:
            if len(outcome.call_id) <= LONGEST_CALL_ID:
                with_room(self._state.outcomes, PENDING_OUTCOMES)[outcome.call_id] = outcome
            return
        marks = tuple(filter(None, stored.marks.split(",")))
        event = NativeEvent(stored.kind, "tool", marks=marks, is_error=stored.is_error)
        event.exit_code = stored.exit_code
        _apply(outcome, event)
        if self.reads_timeline and event.is_error != stored.is_error:
            # Whether a result is an error decides which later calls are retries. Later calls were
            # settled without this outcome, so the session must be derived again.
            self._settled.needs_derivation = True
        amend, seq = self._settled.amend, stored.seq
        amend(seq, "kind", event.kind)
        amend(seq, "marks", ",".join(event.marks))
        amend(seq, "is_error", event.is_error)
        amend(seq, "exit_code", event.exit_code)
        if outcome.duration_ms is not None:
            amend(seq, "duration_ms", outcome.duration_ms)

    def _stored_result(self, call_id: str) -> StoredResult | None:
        if call_id in self._state.open_calls:
            return None
        row = self._settled.rows.get(self._results.get(call_id, -1))
        if row is not None:
            return StoredResult(row.seq, row.kind, row.marks, row.is_error, row.exit_code)
        return self._earlier.result_of(call_id)


def _apply(outcome: CallOutcome, event: NativeEvent) -> None:
    """Add to a result what another record says about its call."""
    if outcome.exit_code is not None:
        event.exit_code = outcome.exit_code
    if outcome.duration_ms is not None:
        event.duration_ms = outcome.duration_ms
    if outcome.is_error and not event.is_error:
        _make_error(event)
    new = (mark for mark in outcome.marks if mark not in (event.kind, *event.marks))
    event.marks = (*event.marks, *new)


def _make_error(event: NativeEvent) -> None:
    event.is_error, event.kind, event.marks = True, "error", ("tool_result", *event.marks)


def _judge_test(event: NativeEvent) -> None:
    """Decide whether a test run failed: by the counts in its text, else by its exit status.

    The counts come first because a pipe hides the exit status of the tests.
    """
    verdict = test_result(event.text, is_error=event.is_error, exit_code=event.exit_code)
    if verdict is None:
        return
    if verdict.line:
        event.summary = verdict.line
    if verdict.passed is False and not event.is_error:
        _make_error(event)


def _mark_decision(event: NativeEvent, *, is_plan: bool) -> None:
    # Claude Code logs "clear the context and start" as a refused plan. It is a refusal only when
    # the person wrote something.
    drop = {"decision", "human_intervention"} if is_plan and not event.has_words else {"decision"}
    event.marks = (*(mark for mark in event.marks if mark not in drop), "decision")


def _committed(event: NativeEvent, given: str) -> str | None:
    """The subject of the commit that the call made. ``given`` is the subject in the call's
    command."""
    logged = (subject for _, subject in logged_commits(event.text))
    if subject := next(filter(says_something, logged), None):
        return one_line(subject, TITLE)
    was_made = arrived(event.text, is_commit=True, failed=event.is_error)
    return one_line(given, TITLE) if given and was_made else None


def _may_commit(summary: str) -> bool:
    """Whether a shell call may make a commit. Its summary may be cut."""
    return "commit" in summary or summary.endswith("…")
