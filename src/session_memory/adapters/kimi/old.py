"""Translate the lines of kimi-cli, which Kimi Code replaced: its log ``wire.jsonl``, and the
``context.jsonl`` of its first versions."""

import re
from collections.abc import Callable
from typing import Any

from session_memory.adapters.base import CallOutcome, ChildLink, NativeEvent, Record
from session_memory.adapters.conversation import ConversationMessage, events_of, word
from session_memory.adapters.json_records import items, mapping, name_in, string
from session_memory.adapters.kimi.kinds import BOOKKEEPING
from session_memory.adapters.kimi.messages import blocks_of, words_of
from session_memory.adapters.kimi.state import KimiState
from session_memory.adapters.kimi.usage import usage_of
from session_memory.adapters.tool_results import result_event
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import MAX_MS

_EXITED = re.compile(r"Command failed with exit code: (\d{1,9})\.?\s*\Z")
_INJECTED = re.compile(r"\s*<system(-reminder)?>.*</system(-reminder)?>\s*\Z", re.DOTALL)
Payload = dict[str, Any]
# The states of a request: sent; answered, with its usage logged; failed.
_OPEN, _DONE, _ERROR = "open", "done", "error"


def wire_line(native: dict[str, Any], record: Record, state: KimiState) -> None:
    """Translate a line of ``wire.jsonl``: a time in seconds and a message."""
    at = native.get("timestamp")
    is_time = isinstance(at, (int, float)) and 0 <= at <= MAX_MS / 1000
    record.ts = int(at * 1000) if is_time and at is not None else None
    # A fork copies the lines. The times are precise, so the first time identifies the original log.
    state.lineage = state.lineage or (f"{at}" if is_time else "")
    _message(mapping(native.get("message")), record, state)


def _message(message: dict[str, Any], record: Record, state: KimiState) -> None:
    kind, payload = word(message.get("type")), mapping(message.get("payload"))
    _TRANSLATE.get(kind, _other)(payload, record, state, kind)


def _other(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    if kind in BOOKKEEPING:
        record.bookkeeping = kind
        return
    words = next(
        (
            text
            for name in ("question", "response", "body", "title", "content", "description")
            if (text := string(payload.get(name)))
        ),
        "",
    )
    record.events.append(NativeEvent("lifecycle", "system", one_line(words), kind, body=words))


def _prompt(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    text = words_of(payload.get("user_input"))
    if record.is_sidechain:
        event = NativeEvent("lifecycle", "user", one_line(text), f"{kind}/subagent", body=text)
    else:
        event = NativeEvent("user_msg", "user", one_line(text), kind, is_prompt=True, text=text)
        if kind == "SteerInput":
            event.kind, event.marks = "human_intervention", ("user_msg",)
    record.events.append(event)


def _step(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    state.ended = _OPEN
    record.bookkeeping = kind


def _failed(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    """Add an error for a request that failed. The log does not say why."""
    state.ended = _ERROR
    record.events.append(NativeEvent("error", "system", "step interrupted", kind, is_error=True))


def _ended(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    """Add the end of a turn. If the last request was sent but its usage was not logged, a person
    stopped the agent."""
    event = NativeEvent("lifecycle", "system", "", kind)
    if state.ended == _DONE:
        event.kind, event.role = "completion", "assistant"
    elif state.ended == _OPEN:
        event.kind, event.role, event.is_interrupt = "human_intervention", "user", True
    state.ended = ""
    record.events.append(event)


def _part(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    what = word(payload.get("type"))
    text = string(payload.get("think" if what == "think" else "text"))
    event = NativeEvent("assistant_msg", "assistant", one_line(text), f"{kind}/{what}", body=text)
    if what == "think":
        event.kind = "thinking"
    elif what != "text":
        event.kind, event.summary = "lifecycle", f"[{what}]"
    record.events.append(event)


def _call(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    record.events = events_of(ConversationMessage(role="assistant", tool_calls=[payload]))


def _result(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    result = mapping(payload.get("return_value"))
    output, note = result.get("output"), string(result.get("message"))
    text = escaped(output) if isinstance(output, str) else words_of(items(output))
    exited = _EXITED.search(note)
    event = result_event(
        string(payload.get("tool_call_id")) or "unnamed",
        one_line(text or note),
        kind,
        failed=result.get("is_error") is True,
    )
    event.exit_code = int(exited[1]) if exited else None
    event.text, event.is_shell = text or note, True
    record.events.append(event)


def _status(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    """Set the usage of the last request. The log names no model."""
    own = name_in(payload.get("message_id")) or f"kimi@{state.lineage}@{record.ts}"
    record.usage = usage_of(mapping(payload.get("token_usage")), own, "")
    state.ended = _DONE if state.ended == _OPEN else state.ended
    record.bookkeeping = kind


def _subagent(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    """Translate an event of a subagent. If the subagent has its own log, the event is a copy of a
    line in that log and becomes bookkeeping."""
    inner = mapping(payload.get("event"))
    agent = string(payload.get("agent_id"))
    if not agent:
        record.is_sidechain, before = True, state.ended
        _message(inner, record, state)
        state.ended = before
        return
    call = string(payload.get("parent_tool_call_id"))
    if inner.get("type") == "TurnBegin" and call:
        record.link = ChildLink(fit_native_id(f"{record.session}:{agent}")[0], call)
    record.bookkeeping = kind


def _asked(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    state.ask(name_in(payload.get("id")), name_in(payload.get("tool_call_id")))
    text = string(payload.get("description"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


def _answered(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    """Add a person's answer to the question whether a call is allowed."""
    verdict, text = string(payload.get("response")), string(payload.get("feedback"))
    call = state.asked.pop(name_in(payload.get("request_id")), "")
    summary = " ".join(filter(None, (verdict, text)))
    event = NativeEvent("decision", "user", one_line(summary), kind, body=summary)
    if verdict == "reject":
        event.kind = "human_intervention"
        if call:
            marks = ("human_intervention",)
            record.outcomes = [CallOutcome(call, is_error=True, marks=marks)]
    record.events.append(event)


def _chosen(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    answers = mapping(payload.get("answers"))
    text = "; ".join(f"{escaped(asked)}: {string(given)}" for asked, given in answers.items())
    record.events.append(NativeEvent("decision", "user", one_line(text), kind, body=text))


def _retry(payload: Payload, record: Record, state: KimiState, kind: str) -> None:
    text = string(payload.get("error_type")) or "error"
    event = NativeEvent("error", "system", one_line(text), kind, marks=("retry",), is_error=True)
    record.events.append(event)


_TRANSLATE: dict[str, Callable[[Payload, Record, KimiState, str], None]] = {
    "ApprovalRequest": _asked,
    "ApprovalRequestResolved": _answered,
    "ApprovalResponse": _answered,
    "ContentPart": _part,
    "QuestionResponse": _chosen,
    "StatusUpdate": _status,
    "SteerInput": _prompt,
    "StepBegin": _step,
    "StepInterrupted": _failed,
    "StepRetry": _retry,
    "SubagentEvent": _subagent,
    "ToolCall": _call,
    "ToolResult": _result,
    "TurnBegin": _prompt,
    "TurnEnd": _ended,
}


def context_line(native: dict[str, Any], record: Record, state: KimiState) -> None:
    """Translate a line of ``context.jsonl``: a message without a time."""
    role = word(native.get("role"))
    if f"context/{role}" in BOOKKEEPING:
        record.bookkeeping = f"context/{role}"
        return
    content = native.get("content")
    text = words_of(content)
    record.events = events_of(
        ConversationMessage(
            role=role,
            content=text if role == "user" else blocks_of(content),
            tool_calls=native.get("tool_calls"),
            tool_call_id=string(native.get("tool_call_id")) or None,
            is_injected=role == "user" and _INJECTED.match(text) is not None,
            is_error="<system>ERROR: " in text[:40],
        )
    )
