"""Translate three kinds of Copilot's records: answers of a model with their calls, results of
calls, and permissions for calls."""

from typing import Any

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.copilot.state import CopilotState
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.json_records import integer, items, mapping, name_in, string
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line

_CANCELLED = "cancelled"
_REFUSED = ("denied-interactively-by-user", "denied-by-user")


def answer(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    """Add one event for the thoughts, one for the text and one for each call of a response."""
    events = record.events
    if thought := string(data.get("reasoningText")):
        event = NativeEvent("thinking", "assistant", one_line(thought), f"{kind}/thinking")
        event.body = thought
        events.append(event)
    if text := string(data.get("content")):
        events.append(NativeEvent("assistant_msg", "assistant", one_line(text), kind, body=text))
    requests = [mapping(call) for call in items(data.get("toolRequests"))]
    named = string(data.get("model"))
    if state.names_models and requests and not named and not events:
        # No model answered: Copilot made the calls by itself.
        record.events += [_own_call(request, kind, state) for request in requests]
        return
    state.names_models = state.names_models or bool(named)
    calls = [_call(request, kind) for request in requests]
    if events and events[-1].kind == "assistant_msg" and not calls:
        events[-1].ends_turn = not record.is_sidechain
    events += calls
    if not events:
        events.append(NativeEvent("lifecycle", "assistant", "", f"{kind}/empty"))
    model = named or state.model
    response = name_in(data.get("apiCallId")) or None
    for event in events:
        event.model, event.response_id = model or None, response


def _call(call: dict[str, Any], kind: str) -> NativeEvent:
    tool, arguments = one_line(string(call.get("name"))) or "unknown", call.get("arguments")
    path = string(mapping(arguments).get("path")) or None
    return call_event(
        string(call.get("toolCallId")) or "unnamed",
        tool,
        arguments,
        f"{kind}/tool",
        path=path,
        is_edit=is_edit_tool(tool, arguments),
    )


def _own_call(call: dict[str, Any], kind: str, state: CopilotState) -> NativeEvent:
    """Return the event of a call that Copilot made by itself. It is no call of the model, and its
    result is no result of one."""
    if call_id := string(call.get("toolCallId")):
        state.note_own_call(call_id)
    tool = one_line(string(call.get("name"))) or "unknown"
    return NativeEvent("lifecycle", "system", f"[{tool}]", f"{kind}/own_tool")


def completed(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    """Add the result of a call. Copilot logs a command that failed as a success with its exit
    code."""
    failure = mapping(data.get("error"))
    text = string(mapping(data.get("result")).get("content")) or string(failure.get("message"))
    code = integer(mapping(data.get("shellExecution")).get("exitCode"))
    if state.own_calls.pop(string(data.get("toolCallId")), None):
        words = one_line(text)
        record.events.append(NativeEvent("lifecycle", "system", words, f"{kind}/own", body=text))
        return
    if state.cancelled.pop(string(data.get("toolCallId")), None):
        record.bookkeeping = kind
        return
    refused = string(failure.get("code")) == "rejected"
    event = result_event(
        string(data.get("toolCallId")) or "unnamed",
        one_line(text),
        kind,
        failed=data.get("success") is False or bool(code),
        marks=("human_intervention",) if refused else (),
    )
    event.exit_code, event.text = code, text
    event.is_shell, event.is_interrupt = True, refused
    record.events.append(event)


def permission(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    """Add the event of a permission for a call: a decision if a person allowed the call, an
    intervention if a person refused it, the call's result if a person stopped the agent instead of
    answering, else a lifecycle event."""
    result = mapping(data.get("result"))
    verdict, call_id = string(result.get("kind")), string(data.get("toolCallId"))
    if verdict == _CANCELLED and call_id and state.cancel(call_id):
        text = string(result.get("reason")) or verdict
        marks = ("human_intervention",)
        event = result_event(call_id, one_line(text), kind, failed=True, marks=marks)
        event.text, event.is_interrupt = text, True
        record.events.append(event)
        return
    event = NativeEvent("lifecycle", "system", one_line(verdict), kind)
    if verdict in _REFUSED:
        event.kind, event.role = "human_intervention", "user"
    elif verdict.startswith("approved") and data.get("decisionSource") == "user":
        event.kind, event.role = "decision", "user"
    record.events.append(event)
