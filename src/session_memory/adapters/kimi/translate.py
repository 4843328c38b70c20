"""Translate one line of a Kimi log into one record."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from session_memory.adapters.base import CallOutcome, ChildLink, NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import word
from session_memory.adapters.json_records import (
    integer,
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.adapters.kimi.kinds import BOOKKEEPING
from session_memory.adapters.kimi.messages import loop_event, message, prompt
from session_memory.adapters.kimi.old import context_line, wire_line
from session_memory.adapters.kimi.state import KimiState
from session_memory.adapters.kimi.usage import request_used
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import MAX_MS

Line = dict[str, Any]


def agent_session(session: str, agent: str) -> str:
    """Return the id of an agent's session: ``<session>:<agent>``, or ``<session>`` for the main
    agent."""
    return f"{session}:{agent}" if agent and agent != "main" else session


def from_line(
    ref: SourceRef, state: KimiState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, escaped(agent_session(ref.session, ref.agent)))
    native = object_in_line(record, line)
    if native is None or line is None:
        return record
    record.follows, record.is_sidechain = True, bool(ref.agent)
    if ref.agent:
        record.parent_session = fit_native_id(escaped(ref.session))[0]
    if "timestamp" in native and isinstance(native.get("message"), dict):
        wire_line(native, record, state)
    elif "role" in native:
        context_line(native, record, state)
    else:
        _new_line(native, record, state, ref)
    if record.native_id is None and state.lineage:
        # Few lines have an id. A fork copies lines unchanged, so a hash identifies a line.
        digest = blake2b(line.strip(), digest_size=12).hexdigest()
        record.native_id = f"kimi@{state.lineage}@{digest}"
    return record


def _new_line(native: Line, record: Record, state: KimiState, ref: SourceRef) -> None:
    at = native.get("time")
    record.ts = at if type(at) is int and 0 <= at <= MAX_MS else None
    kind = word(native.get("type"))
    if kind == "metadata":
        record.bookkeeping = kind
        begun = integer_text(native.get("created_at"))
        state.lineage = state.lineage or (f"{begun}.{ref.agent or 'main'}" if begun else "")
        return
    _TRANSLATE.get(kind, _other)(native, record, state, kind)


def integer_text(value: Any) -> str:
    return str(value) if type(value) is int and 0 <= value <= MAX_MS else ""


def _other(native: Line, record: Record, state: KimiState, kind: str) -> None:
    if kind in BOOKKEEPING:
        record.bookkeeping = kind
        return
    words = next(
        (
            text
            for name in ("message", "content", "objective", "reason", "mode", "status", "name")
            if (text := string(native.get(name)))
        ),
        "",
    )
    record.events.append(NativeEvent("lifecycle", "system", one_line(words), kind, body=words))


def _bound(native: Line, record: Record, state: KimiState, kind: str) -> None:
    record.cwd = string(mapping(native.get("environmentDisclosure")).get("cwd")) or None
    state.model = name_in(native.get("modelAlias")) or state.model
    record.bookkeeping = kind


def _request(native: Line, record: Record, state: KimiState, kind: str) -> None:
    state.model = name_in(native.get("model")) or name_in(native.get("modelAlias")) or state.model
    record.bookkeeping = kind


def _used(native: Line, record: Record, state: KimiState, kind: str) -> None:
    request_used(native, record, state)
    record.bookkeeping = kind


def _config(native: Line, record: Record, state: KimiState, kind: str) -> None:
    chosen = name_in(native.get("modelAlias"))
    state.model = chosen or state.model
    record.events.append(NativeEvent("lifecycle", "user", one_line(chosen), kind))


def _mode(native: Line, record: Record, state: KimiState, kind: str) -> None:
    """Add the event of a permission mode. The mode with which a session begins is no decision; a
    later mode is a decision of the person."""
    is_decision = state.has_prompts and not record.is_sidechain
    event = NativeEvent("lifecycle", "system", one_line(string(native.get("mode"))), kind)
    if is_decision:
        event.kind, event.role = "decision", "user"
    record.events.append(event)


def _cancelled(native: Line, record: Record, state: KimiState, kind: str) -> None:
    why = string(native.get("reason"))
    event = NativeEvent("human_intervention", "user", one_line(why), kind, body=why)
    event.is_interrupt = native.get("target") != "queued"
    if why == "aborted":
        event.kind, event.role, event.is_interrupt = "lifecycle", "system", False
    record.events.append(event)


def _turn_ended(native: Line, record: Record, state: KimiState, kind: str) -> None:
    reason = string(native.get("reason"))
    event = NativeEvent("lifecycle", "system", one_line(reason), kind)
    spent = integer(native.get("durationMs"))
    event.duration_ms = spent if spent is not None and spent >= 0 else None
    if reason == "completed":
        event.kind, event.role = "completion", "assistant"
    elif reason == "failed":
        text = string(mapping(native.get("error")).get("message")) or reason
        event.kind, event.is_error = "error", True
        event.summary, event.body = one_line(text), text
    record.events.append(event)


def _retrying(native: Line, record: Record, state: KimiState, kind: str) -> None:
    text = string(native.get("errorMessage")) or string(native.get("errorName")) or "error"
    event = NativeEvent("error", "system", one_line(text), kind, marks=("retry",), is_error=True)
    event.body = text
    record.events.append(event)


def _spawned(native: Line, record: Record, state: KimiState, kind: str) -> None:
    agent, call = string(native.get("subagentId")), string(native.get("parentToolCallId"))
    session = record.session.partition(":")[0]
    if agent and call:
        record.link = ChildLink(fit_native_id(agent_session(session, agent))[0], call)
    text = string(native.get("description")) or string(native.get("subagentName"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind))


def _subagent_ended(native: Line, record: Record, state: KimiState, kind: str) -> None:
    text = string(native.get("resultSummary")) or string(native.get("error"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


def _approval(native: Line, record: Record, state: KimiState, kind: str) -> None:
    """Add a person's answer to the question whether a call is allowed."""
    result = mapping(native.get("result"))
    verdict, text = string(result.get("decision")), string(result.get("feedback"))
    summary = " ".join(filter(None, (verdict, string(native.get("toolName")), text)))
    event = NativeEvent("decision", "user", one_line(summary), kind, body=summary)
    call = string(native.get("toolCallId"))
    if verdict != "approved":
        event.kind = "human_intervention"
        if call:
            marks = ("human_intervention",)
            record.outcomes = [CallOutcome(call, is_error=True, marks=marks)]
    record.events.append(event)


def _undone(native: Line, record: Record, state: KimiState, kind: str) -> None:
    count = integer(native.get("count")) or 0
    record.turns_undone = max(count, 0)
    text = f"went back by {record.turns_undone} prompts"
    record.events.append(NativeEvent("human_intervention", "user", text, kind, body=text))


def _compacted(native: Line, record: Record, state: KimiState, kind: str) -> None:
    summary = native.get("summary")
    text = string(summary) or string(native.get("contextSummary"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


_TRANSLATE: dict[str, Callable[[Line, Record, KimiState, str], None]] = {
    "config.update": _config,
    "context.append_loop_event": loop_event,
    "context.append_message": message,
    "context.apply_compaction": _compacted,
    "context.undo": _undone,
    "llm.request": _request,
    "permission.record_approval_result": _approval,
    "permission.set_mode": _mode,
    "profile.bind": _bound,
    "subagent.completed": _subagent_ended,
    "subagent.failed": _subagent_ended,
    "subagent.spawned": _spawned,
    "turn.cancel": _cancelled,
    "turn.ended": _turn_ended,
    "turn.prompt": prompt,
    "turn.steer": prompt,
    "turn.step.retrying": _retrying,
    "usage.record": _used,
}
