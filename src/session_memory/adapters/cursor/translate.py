"""Translate one line of a Cursor transcript into one record."""

from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import word
from session_memory.adapters.cursor.prompts import prompt, time_in
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.json_records import (
    mapping,
    new_record,
    object_in_line,
    parts_of,
    string,
)
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line

_PATHS = ("path", "file_path", "target_file", "relative_workspace_path")
_STOPPED = frozenset({"aborted", "cancelled", "canceled", "interrupted"})
HIDDEN = "[REDACTED]"


def record_of(ref: SourceRef, offset: int, length: int) -> Record:
    """Return an empty record of the session that the file is named after."""
    record = new_record(offset, length, escaped(ref.session))
    record.follows = True
    if ref.agent:
        record.parent_session = fit_native_id(escaped(ref.agent))[0]
    return record


def from_line(
    ref: SourceRef, state: object, offset: int, length: int, line: bytes | None
) -> Record:
    record = record_of(ref, offset, length)
    native = object_in_line(record, line)
    if native is None:
        return record
    role, content = native.get("role"), mapping(native.get("message")).get("content")
    if role == "user":
        _user(content, record, is_subagent=bool(ref.agent))
    elif role == "assistant":
        _assistant(content, record)
    else:
        record.events.append(_other(native))
    return record


def _user(content: Any, record: Record, *, is_subagent: bool) -> None:
    parts = parts_of(content)
    texts = [string(part.get("text")) for part in parts]
    text = "\n".join(filter(None, texts))
    record.ts = time_in(text)
    results = [part for part in parts if part.get("type") == "tool_result"]
    record.events += [_result(part, record, n) for n, part in enumerate(results)]
    if text or not results:
        record.events.append(prompt(text, is_subagent=is_subagent))


def _assistant(content: Any, record: Record) -> None:
    parts = parts_of(content)
    calls = any(part.get("type") == "tool_use" for part in parts)
    for number, part in enumerate(parts):
        record.events.append(_part(part, record, number, ends_turn=not calls))
    if not record.events:
        record.events.append(NativeEvent("lifecycle", "assistant", "", "assistant/empty"))


def _part(part: dict[str, Any], record: Record, number: int, *, ends_turn: bool) -> NativeEvent:
    match part.get("type"):
        case "tool_use":
            return _call(part, record, number)
        case "tool_result":
            return _result(part, record, number)
        case "thinking":
            text = string(part.get("thinking")) or string(part.get("text"))
            return NativeEvent(
                "thinking", "assistant", one_line(text), "assistant/thinking", body=text
            )
        case "text" | None:
            text = string(part.get("text"))
            event = NativeEvent(
                "assistant_msg", "assistant", one_line(text), "assistant", body=text
            )
            if text.strip() in ("", HIDDEN):
                # Cursor writes `HIDDEN` in place of what the model thought.
                event.kind, event.native_kind = "thinking", "assistant/hidden"
            event.ends_turn = ends_turn and event.kind == "assistant_msg"
            return event
        case kind:
            return NativeEvent(
                "lifecycle", "assistant", f"[{word(kind)}]", f"assistant/{word(kind)}"
            )


def _call(part: dict[str, Any], record: Record, number: int) -> NativeEvent:
    """Return the event of a call. Most transcripts have neither ids nor results of calls."""
    tool, arguments = string(part.get("name")), part.get("input")
    named = mapping(arguments)
    path = next((found for name in _PATHS if (found := string(named.get(name)))), None)
    return call_event(
        string(part.get("id")) or f"{record.session}@{record.offset}.{number}",
        one_line(tool) or "unknown",
        arguments,
        "assistant/tool_use",
        path=path,
        is_edit=is_edit_tool(tool, arguments),
    )


def _result(part: dict[str, Any], record: Record, number: int) -> NativeEvent:
    """Return the event of a result. Some versions of Cursor log results, with the call's id."""
    text = "\n".join(string(one.get("text")) for one in parts_of(part.get("content")))
    call = string(part.get("tool_use_id")) or f"{record.session}@{record.offset}.{number}"
    failed = part.get("is_error") is True
    event = result_event(call, one_line(text), "user/tool_result", failed=failed)
    event.text = text
    return event


def _other(native: dict[str, Any]) -> NativeEvent:
    kind, status = word(native.get("type")), string(native.get("status"))
    text = string(native.get("error")) or status
    if kind == "turn_ended" and status in _STOPPED:
        return NativeEvent(
            "human_intervention", "user", one_line(text), kind, is_interrupt=True, body=text
        )
    if kind == "turn_ended" and native.get("error"):
        return NativeEvent("error", "system", one_line(text), kind, is_error=True, body=text)
    if kind == "turn_ended":
        return NativeEvent("completion", "system", one_line(text), kind, body=text)
    return NativeEvent("lifecycle", "system", one_line(text), kind, body=text)
