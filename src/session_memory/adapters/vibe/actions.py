"""Translate the model's answers in journals of Vibe, and the results of its calls."""

from typing import Any

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.conversation import word
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.json_records import integer, items, mapping, string
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.adapters.vibe.state import VibeState
from session_memory.adapters.vibe.usage import request_used
from session_memory.core.text import one_line

Payload = dict[str, Any]
_CANCELLED = "effect_recovery_failed"
_PRINTED = ("stdout", "stderr")


def answered(outcome: Payload, action: str, record: Record, state: VibeState) -> None:
    """Add one event for each part of an answer, and set the usage of the request."""
    answer = mapping(outcome.get("result"))
    for part in map(mapping, items(answer.get("parts"))):
        event = _part(part, state)
        event.response_id = f"vibe@{action}"
        record.events.append(event)
    if failure := mapping(outcome.get("error")):
        text = string(failure.get("message")) or string(failure.get("code")) or "error"
        is_stop = failure.get("code") == _CANCELLED
        event = NativeEvent("lifecycle", "system", one_line(text), "completion_failed", body=text)
        if not is_stop:
            event.kind, event.is_error = "error", True
        record.events.append(event)
    request_used(mapping(answer.get("usage")), action, record, state)


def _part(part: Payload, state: VibeState) -> NativeEvent:
    match part.get("type"):
        case "text":
            text = string(part.get("text"))
            return NativeEvent("assistant_msg", "assistant", one_line(text), "answer", body=text)
        case "reasoning":
            text = _texts(part.get("content"))
            return NativeEvent("thinking", "assistant", one_line(text), "answer", body=text)
        case "tool_call":
            return _call(part, state)
        case kind:
            label = word(kind)
            return NativeEvent("lifecycle", "assistant", f"[{label}]", f"answer/{label}")


def _call(part: Payload, state: VibeState) -> NativeEvent:
    given = part.get("arguments_json")
    try:
        arguments = decode_anything(string(given).encode("utf-8", "surrogatepass"))
    except ValueError:
        arguments = {"arguments": string(given)}
    tool, call = one_line(string(part.get("name"))) or "unknown", string(part.get("id"))
    state.call(call)
    named = mapping(arguments)
    path = string(named.get("path")) or string(named.get("file_path")) or None
    is_edit = is_edit_tool(tool, arguments)
    return call_event(call or "unnamed", tool, arguments, "tool_call", path=path, is_edit=is_edit)


def result(outcome: Payload, state: VibeState) -> NativeEvent:
    """Return the result of a call that Vibe carried out, and note that the call has ended."""
    call, found = string(outcome.get("call_id")), mapping(outcome.get("result"))
    state.open.pop(call, None)
    details, failure = mapping(found.get("structured_content")), mapping(found.get("error"))
    code = integer(details.get("returncode"))
    printed = "".join(string(details.get(name)) for name in _PRINTED)
    text = string(failure.get("message")) or printed or _texts(found.get("content"))
    if not text and details and code is None:
        text = "\n".join(f"{name}: {value}" for name, value in details.items())
    refused = mapping(mapping(found.get("_meta")).get("approval")).get("decision") == "skip"
    event = result_event(
        call or "unnamed",
        one_line(text),
        "tool_result",
        failed=string(outcome.get("type")) != "tool_succeeded" or bool(code),
        marks=("human_intervention",) if refused else (),
    )
    event.exit_code, event.text, event.is_shell = code, text, True
    event.is_interrupt = refused
    return event


def unanswered(messages: list[Any], state: VibeState) -> list[NativeEvent]:
    """Return the results of calls that Vibe did not carry out, such as calls of unknown tools.

    Only the next request to the model has these results; ``messages`` are its messages.
    """
    events = []
    for message in map(mapping, messages):
        call = string(message.get("tool_call_id"))
        if message.get("role") == "tool" and state.open.pop(call, False):
            text = _texts(message.get("content"))
            failed = message.get("outcome") != "success"
            event = result_event(call, one_line(text), "tool_result", failed=failed)
            event.text, event.is_shell = text, True
            events.append(event)
    return events


def _texts(content: Any) -> str:
    return "\n".join(string(mapping(part).get("text")) for part in items(content))
