"""Translate a message of goose into events."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from session_memory.adapters.base import NativeEvent
from session_memory.adapters.conversation import word
from session_memory.adapters.detectors import is_edit_tool, is_shell_tool
from session_memory.adapters.json_records import integer, items, mapping, name_in, string
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line

_DECLINED = "The user has declined to run this tool"
_INTERRUPTED = "Interrupted by the user"
_EXITED = re.compile(r"(?:exit(?:ed with)? code|exit status):? (-?\d{1,9})\)?\s*\Z", re.IGNORECASE)
# Commands that goose carries out itself. It keeps them from the model.
_COMMAND = re.compile(r"/(?:clear|compact|doctor|prompts|skills|summarize)\s*\Z")
# Each copy of a session puts the code of an error before its text once more.
_CODES = re.compile(r"(?:-32\d{3}: )+")
_ENDING = 200
_PATHS = ("path", "file_path", "filePath")


def message_events(
    role: str,
    content: Any,
    metadata: dict[str, Any],
    model: str | None,
    shells: Collection[str] = (),
) -> list[NativeEvent]:
    """Return the events of a message. Results of calls are in messages with the role of the user.

    ``metadata`` says whether the person sees the message; ``model`` is set in the model's events.
    ``shells`` are the ids of calls that ran a command.
    """
    is_hidden = metadata.get("userVisible") is False
    events = [event for block in items(content) for event in _block(role, mapping(block), shells)]
    prompts = [event for event in events if event.kind == "user_msg"]
    is_command = metadata.get("agentVisible") is False and any(
        _COMMAND.match(event.text) for event in prompts
    )
    if is_command:
        label = "user/command"
        return [
            NativeEvent("lifecycle", "user", one.summary, label, text=one.text) for one in prompts
        ]
    for event in prompts:
        # A message that the person does not see is from goose: a summary or a notice.
        event.kind = "lifecycle" if is_hidden else "user_msg"
        event.is_prompt = not is_hidden and event is prompts[0]
    if not events:
        events.append(NativeEvent("lifecycle", _role(role), "", f"{word(role)}/empty"))
    for event in events:
        if event.role == "assistant":
            event.model = model
    if role == "assistant" and events[-1].kind == "assistant_msg":
        events[-1].ends_turn = not any(event.call_id for event in events)
    return events


def without_codes(text: str) -> str:
    """Return a text without the numbers of errors, which are not the same in a copy."""
    return _CODES.sub("", text)


def _role(role: str) -> str:
    return role if role in ("user", "assistant") else "system"


def _block(role: str, block: dict[str, Any], shells: Collection[str]) -> Iterator[NativeEvent]:
    kind = word(block.get("type"))
    label = f"{word(role)}/{kind}"
    match kind:
        case "text":
            text = string(block.get("text"))
            if role == "user":
                yield NativeEvent("user_msg", "user", one_line(text), label, text=text)
            else:
                yield NativeEvent("assistant_msg", "assistant", one_line(text), label, body=text)
        case "thinking" | "reasoning":
            text = string(block.get("thinking")) or string(block.get("text"))
            yield NativeEvent("thinking", "assistant", one_line(text), label, body=text)
        case "toolRequest" | "frontendToolRequest":
            yield _call(block, label)
        case "toolResponse":
            yield _result(block, label, shells)
        case "systemNotification":
            text = string(block.get("msg"))
            yield NativeEvent("lifecycle", "system", one_line(text), label, body=text)
        case _:
            yield NativeEvent("lifecycle", _role(role), f"[{kind}]", label)


def shell_calls(events: list[NativeEvent]) -> list[str]:
    """Return the ids of the calls that run a command. Tools of extensions are called
    `<extension>__<tool>`."""
    calls = [event for event in events if event.call_id and event.arguments is not None]
    return [str(one.call_id) for one in calls if is_shell_tool(str(one.tool).rpartition("__")[2])]


def _call(block: dict[str, Any], label: str) -> NativeEvent:
    asked = mapping(block.get("toolCall"))
    value = mapping(asked.get("value"))
    tool, arguments = one_line(string(value.get("name"))) or "unknown", value.get("arguments")
    given = mapping(arguments)
    path = next(filter(None, (string(given.get(name)) for name in _PATHS)), None)
    # Tools of extensions are called `<extension>__<tool>`.
    edits = is_edit_tool(tool, arguments) or is_edit_tool(tool.rpartition("__")[2], arguments)
    call_id = name_in(block.get("id")) or "unnamed"
    if not value:
        arguments = string(asked.get("error"))
    return call_event(call_id, tool, arguments, label, path=path, is_edit=edits)


def _result(block: dict[str, Any], label: str, shells: Collection[str]) -> NativeEvent:
    call_id = name_in(block.get("id")) or "unnamed"
    is_shell = call_id in shells
    given = mapping(block.get("toolResult"))
    value = given.get("value")
    parts = items(mapping(value).get("content")) if isinstance(value, dict) else items(value)
    texts = [string(mapping(part).get("text")) for part in parts]
    text = "\n".join(filter(None, texts)) or without_codes(string(given.get("error")))
    structured = mapping(mapping(value).get("structuredContent"))
    code = integer(structured.get("exit_code"))
    # Results of other tools are not searched: they may be a file or an answer with such words.
    if code is None and is_shell and (exited := _EXITED.search(text[-_ENDING:])):
        code = int(exited[1])
    is_error = given.get("status") == "error" or mapping(value).get("isError") is True
    refused = text.startswith(_DECLINED)
    stopped = is_error and _INTERRUPTED in text[:_ENDING]
    event = result_event(
        call_id,
        one_line(text),
        label,
        failed=is_error or refused or bool(code),
        marks=("human_intervention",) if refused or stopped else (),
    )
    event.exit_code, event.text, event.is_shell = code, text, True
    event.is_interrupt = refused or stopped
    return event
