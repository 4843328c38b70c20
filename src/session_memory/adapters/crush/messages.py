"""Translate a message of Crush with its parts into events."""

import re
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.base import NativeEvent
from session_memory.adapters.conversation import word
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.json_records import integer, items, mapping, name_in, string
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.row_messages import Block
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

_EXITED = re.compile(r"(?:\A|\n)Exit code (-?\d{1,9})\s*(?:\n<cwd>[^\n]*</cwd>)?\s*\Z")
_ENDING = 2000
_CANCELLED = "Error: user cancelled assistant tool calling"
_DENIED = ("User denied permission", "permission denied by user")

Part = tuple[str, dict[str, Any]]
"""The type of a part, and its data."""


def parts_of(text: Any) -> list[Part]:
    """Return the parts of a message from the text of its column ``parts``."""
    try:
        decoded = decode_anything(text.encode()) if isinstance(text, str) else None
    except ValueError:
        decoded = None
    found = [mapping(part) for part in items(decoded)]
    return [(word(part.get("type")), mapping(part.get("data"))) for part in found]


def is_finished(row: dict[str, Any], parts: list[Part]) -> bool:
    """Whether Crush has finished writing a message. Only answers are written part by part; their
    last part is ``finish``."""
    return row.get("role") != "assistant" or any(kind == "finish" for kind, _ in parts)


def message_blocks(row: dict[str, Any], parts: list[Part], *, is_open: bool) -> list[Block]:
    """Return the events of a message, each with a name. If Crush is still writing the message
    (``is_open``), leave out the events that may still change."""
    role = string(row.get("role"))
    blocks = [
        (name, event)
        for number, (kind, data) in enumerate(parts)
        for name, event in _part(role, kind, data, number, is_open=is_open)
    ]
    if row.get("is_summary_message"):
        for _, event in blocks:
            if event.kind == "assistant_msg":
                event.kind, event.native_kind = "lifecycle", "summary"
    if role == "user":
        _mark_prompt(blocks)
    elif role == "assistant":
        _finish_answer(row, parts, blocks)
    return blocks


def _mark_prompt(blocks: list[Block]) -> None:
    """Mark the first text of a message as the prompt: all its texts are one prompt."""
    for _, event in blocks:
        if event.kind == "user_msg":
            event.is_prompt = True
            return


def _finish_answer(row: dict[str, Any], parts: list[Part], blocks: list[Block]) -> None:
    model = string(row.get("model")) or None
    for _, event in blocks:
        if event.role == "assistant":
            event.model = model
    spoken = [event for _, event in blocks if event.kind in ("assistant_msg", "tool_call")]
    reasons = [data.get("reason") for kind, data in parts if kind == "finish"]
    if reasons == ["end_turn"] and spoken and spoken[-1].kind == "assistant_msg":
        spoken[-1].ends_turn = True


def _part(
    role: str, kind: str, data: dict[str, Any], number: int, *, is_open: bool
) -> Iterator[Block]:
    label = f"{word(role)}/{kind}"
    match kind:
        case "text":
            text = string(data.get("text"))
            if text and not is_open:
                yield "text", _text(role, text, label)
        case "reasoning":
            text = string(data.get("thinking"))
            if text and (not is_open or data.get("finished_at")):
                thought = NativeEvent("thinking", "assistant", one_line(text), label, body=text)
                yield "reasoning", thought
        case "tool_call":
            if data.get("finished") is True or not is_open:
                yield f"call {string(data.get('id')) or number}", _call(data, label)
        case "tool_result":
            yield f"result {string(data.get('tool_call_id')) or number}", _result(data, label)
        case "finish":
            if role == "assistant" and (event := _finish(data)) is not None:
                yield "finish", event
        case "shell_command":
            yield f"shell {number}", _own_command(data, label)
        case _:
            place = string(data.get("Path")) or string(data.get("url"))
            summary = one_line(f"[{kind}] {place}".strip())
            yield f"{kind} {number}", NativeEvent("lifecycle", _role(role), summary, label)


def _role(role: str) -> str:
    return role if role in ("user", "assistant", "tool") else "system"


def _text(role: str, text: str, label: str) -> NativeEvent:
    if role == "user":
        return NativeEvent("user_msg", "user", one_line(text), label, text=text)
    kind = "assistant_msg" if role == "assistant" else "lifecycle"
    return NativeEvent(kind, _role(role), one_line(text), label, body=text)


def _call(data: dict[str, Any], label: str) -> NativeEvent:
    tool, given = one_line(string(data.get("name"))) or "unknown", data.get("input")
    arguments: object = given
    if isinstance(given, str):
        try:
            arguments = decode_anything(given.encode("utf-8", "surrogatepass"))
        except ValueError:
            arguments = escaped(given)
    named = mapping(arguments)
    path = string(named.get("file_path")) or string(named.get("path")) or None
    call_id = name_in(data.get("id")) or "unnamed"
    edits = is_edit_tool(tool, arguments)
    return call_event(call_id, tool, arguments, label, path=path, is_edit=edits)


def _result(data: dict[str, Any], label: str) -> NativeEvent:
    text = string(data.get("content"))
    is_shell = data.get("name") in ("bash", "job_output", None, "")
    exited = _EXITED.search(text[-_ENDING:]) if is_shell else None
    code = int(exited[1]) if exited else None
    is_error = data.get("is_error") is True
    stopped = is_error and text.startswith(_CANCELLED)
    refused = is_error and any(words in text[:_ENDING] for words in _DENIED)
    event = result_event(
        name_in(data.get("tool_call_id")) or "unnamed",
        one_line(text),
        label,
        failed=is_error or bool(code),
        marks=("human_intervention",) if stopped or refused else (),
    )
    event.exit_code, event.text, event.is_shell = code, text, True
    event.is_interrupt = stopped or refused
    return event


def _finish(data: dict[str, Any]) -> NativeEvent | None:
    text = "\n".join(filter(None, (string(data.get("message")), string(data.get("details")))))
    match data.get("reason"):
        case "canceled" | "permission_denied" as reason:
            event = NativeEvent("human_intervention", "user", one_line(text) or reason)
            event.is_interrupt = True
        case "error" | "content_filter" | "max_tokens" as reason:
            event = NativeEvent("error", "system", one_line(text) or reason, is_error=True)
        case _:
            return None
    event.native_kind, event.body = "assistant/finish", text
    return event


def _own_command(data: dict[str, Any], label: str) -> NativeEvent:
    """Return the event of a command that the person ran with ``!``."""
    command = string(data.get("command"))
    event = NativeEvent("lifecycle", "user", one_line(f"! {command}"), label)
    event.body = f"! {command}\n{string(data.get('output'))}"
    event.exit_code = integer(data.get("exit_code"))
    return event
