"""Translate calls in logs of Codex, their results, and other records about how they ended."""

from session_memory.adapters.base import CallOutcome, ChildLink, NativeEvent, Record
from session_memory.adapters.codex.calls import (
    CODE_MODE,
    answers_of,
    is_answered,
    to_answer,
    to_call,
)
from session_memory.adapters.codex.lines import Call, Completed, Ended, Output, TurnItem
from session_memory.adapters.codex.outputs import milliseconds, read_output
from session_memory.adapters.codex.reading import LogReading, Translate, fit
from session_memory.adapters.codex.state import digest, short
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line


def call_of(kind: str) -> Translate:
    def call(reading: LogReading, native: Call, record: Record) -> None:
        call_id = native.call_id or native.id or f"{kind}-{digest(reading.content)}"
        reading.named_as_call(record, "c", call_id)
        event = to_call(native, kind, call_id)
        reading.by_model(record, event)
        if is_answered(kind):
            record.events.append(to_answer(event, native.status))
        elif event.tool == CODE_MODE:
            reading.state.script = call_id if short(call_id) == call_id else ""
        elif answers := answers_of(event):
            reading.state.open_call(call_id, answers)

    return call


def output(reading: LogReading, native: Output, record: Record) -> None:
    call_id, state = native.call_id, reading.state
    outcome = read_output(native.output, state.close_call(call_id) if call_id else "")
    if not call_id:
        text = outcome.text
        record.events.append(NativeEvent("lifecycle", "tool", one_line(text), body=text))
        return
    if call_id == state.script:
        state.script = ""
    reading.named_as_call(record, "o", call_id)
    failed = outcome.is_error or native.status == "failed"
    marks = ("human_intervention",) if outcome.by_person else ()
    if outcome.child:
        record.link = ChildLink(fit(outcome.child), call_id)
    event = result_event(call_id, one_line(outcome.shown), failed=failed, marks=marks)
    event.duration_ms, event.exit_code = outcome.duration_ms, outcome.exit_code
    event.text, event.is_interrupt = outcome.text, outcome.by_person
    event.is_shell = outcome.is_finished
    record.events.append(event)


def ended_of(kind: str) -> Translate:
    """Return the translator for records of this kind, which say how a call ended, in logs of the
    second generation."""

    def ended(reading: LogReading, native: Ended, record: Record) -> None:
        record.bookkeeping = kind
        if not native.call_id:
            return
        failed = native.success is False or _is_failure(native.status)
        failed = failed or bool(native.exit_code) or _mcp_failed(native.result)
        _outcome(record, native.call_id, failed, native.exit_code, native.duration)
        if native.new_thread_id:
            record.link = ChildLink(fit(native.new_thread_id), native.call_id)

    return ended


def tool_item(reading: LogReading, native: Completed, record: Record) -> None:
    """Translate a record of how a call ended, in logs of the third generation."""
    item, script = native.item, reading.state.script
    record.bookkeeping = item.type
    if not item.id:
        return
    failed = item.success is False or _is_failure(item.status) or bool(item.exit_code)
    if script and not reading.state.is_open(item.id):
        # A command inside a script has no call of its own: its failure is a failure of the script.
        if failed:
            _outcome(record, script, failed, item.exit_code, None)
    else:
        _outcome(record, item.id, failed, item.exit_code, item.duration)
    if child := _child_of(item):
        record.link = ChildLink(fit(child), item.id)


def _child_of(item: TurnItem) -> str | None:
    if item.type == "SubAgentActivity":
        return item.agent_thread_id if item.kind == "started" else None
    spawned = item.receiver_thread_ids if item.tool == "spawn_agent" else None
    return spawned[0] if spawned else None


def _mcp_failed(result: object) -> bool:
    match result:
        case {"Err": _} | {"Ok": {"isError": True}} | {"Ok": {"is_error": True}}:
            return True
    return False


def _is_failure(status: object) -> bool:
    return isinstance(status, str) and status in ("failed", "declined")


def _outcome(
    record: Record, call_id: str, failed: bool, exit_code: int | None, spent: object
) -> None:
    code = exit_code if exit_code is not None and abs(exit_code) < 1 << 31 else None
    # Only a failure is noted. If there is none, the result of the call decides whether it worked.
    record.outcomes = [CallOutcome(call_id, failed or None, code, milliseconds(spent))]
