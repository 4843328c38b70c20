"""Translate the messages in a log of pi into events, and the tokens of an answer into usage."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from session_memory.adapters.base import NativeEvent, NativeUsage, Record
from session_memory.adapters.conversation import ConversationMessage, events_of, text_of, word
from session_memory.adapters.detectors import is_edit_tool, is_shell_tool
from session_memory.adapters.json_records import integer, mapping, name_in, string
from session_memory.adapters.providers import model_sold_by
from session_memory.adapters.reported_costs import microdollars
from session_memory.adapters.token_counts import count_of, part_of
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

_EXITED = re.compile(r"Command exited with code (\d{1,9})\s*\Z")
_STOPPED = re.compile(r"(?:Command aborted|Operation aborted)\s*\Z")
# Only this many characters at the end of a result are searched for `_EXITED` and `_STOPPED`.
_ENDING = 200


def message_events(message: Mapping[str, Any]) -> list[NativeEvent]:
    """Return one event for each block of a message, and one more for an answer that was broken
    off."""
    match message.get("role"):
        case "assistant":
            return _answer(message)
        case "toolResult":
            return [_result(message)]
        case "bashExecution":
            return [_own_command(message)]
        case "custom" | "hookMessage" | "branchSummary" | "compactionSummary" as role:
            text = escaped(text_of(message.get("content"))) or string(message.get("summary"))
            return [
                NativeEvent("lifecycle", "system", one_line(text), f"message/{role}", body=text)
            ]
        case "system":
            return [_system(message)]
        case role:
            return events_of(ConversationMessage(role=word(role), content=message.get("content")))


def _system(message: Mapping[str, Any]) -> NativeEvent:
    """Return the event of a system message. The text of the message is in named sections. A later
    message may replace single sections."""
    text = escaped(text_of(message.get("content")))
    names = ", ".join(map(word, mapping(message.get("sections"))))
    return NativeEvent("lifecycle", "system", one_line(text) or names, "message/system", body=text)


def _answer(message: Mapping[str, Any]) -> list[NativeEvent]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    events = [_block(block) for block in blocks]
    stop = message.get("stopReason")
    if stop in ("error", "aborted"):
        events = [_unmade(event) if event.call_id else event for event in events]
        events.append(_broken_off(message, stop == "aborted"))
    elif not events:
        events.append(NativeEvent("lifecycle", "assistant", "", "assistant/empty"))
    model, response = string(message.get("model")) or None, string(message.get("responseId"))
    for event in events:
        if event.role == "assistant":
            event.model, event.response_id = model, response or None
    if stop == "stop" and events[-1].kind == "assistant_msg":
        events[-1].ends_turn = True
    return events


def _block(block: Any) -> NativeEvent:
    native = block if isinstance(block, Mapping) else {"type": "text", "text": block}
    match native.get("type"):
        case "text":
            text = string(native.get("text"))
            return NativeEvent(
                "assistant_msg", "assistant", one_line(text), "assistant/text", body=text
            )
        case "thinking":
            text = string(native.get("thinking"))
            return NativeEvent(
                "thinking", "assistant", one_line(text), "assistant/thinking", body=text
            )
        case "toolCall":
            return _call(native)
        case kind:
            label = f"assistant/{word(kind)}"
            return NativeEvent("lifecycle", "assistant", f"[{word(kind)}]", label)


def _call(native: Mapping[str, Any]) -> NativeEvent:
    tool, arguments, path = string(native.get("name")), native.get("arguments"), None
    if isinstance(arguments, Mapping):
        path = string(arguments.get("path")) or string(arguments.get("file_path")) or None
    return call_event(
        string(native.get("id")) or "unnamed",
        one_line(tool) or "unknown",
        arguments,
        "assistant/toolCall",
        path=path,
        is_edit=is_edit_tool(tool, arguments),
    )


def _unmade(call: NativeEvent) -> NativeEvent:
    """Return the event of a call in an answer that was broken off. It is no call, because pi never
    runs it."""
    return NativeEvent("lifecycle", "assistant", f"[{call.tool}]", "assistant/toolCall")


def _broken_off(message: Mapping[str, Any], aborted: bool) -> NativeEvent:
    text = string(message.get("errorMessage"))
    if aborted:
        return NativeEvent(
            "human_intervention",
            "user",
            one_line(text) or "stopped",
            "assistant/aborted",
            is_interrupt=True,
            body=text,
        )
    return NativeEvent(
        "error", "system", one_line(text) or "error", "assistant/error", is_error=True, body=text
    )


def _result(message: Mapping[str, Any]) -> NativeEvent:
    text = escaped(text_of(message.get("content")))
    details = message.get("details")
    tool = string(message.get("toolName"))
    exited = _EXITED.search(text[-_ENDING:]) if is_shell_tool(tool or "bash") else None
    code = int(exited[1]) if exited else _logged_exit(details)
    stopped = _STOPPED.search(text[-_ENDING:]) is not None and message.get("isError") is True
    failed = message.get("isError") is True or bool(code)
    event = result_event(
        string(message.get("toolCallId")) or "unnamed",
        one_line(text) or " ".join(_pictures(message)),
        "toolResult",
        failed=failed,
        marks=("human_intervention",) if stopped else (),
    )
    event.exit_code, event.text, event.is_shell = code, text, True
    event.is_interrupt = stopped
    return event


def _logged_exit(details: Any) -> int | None:
    return integer(details.get("exitCode")) if isinstance(details, Mapping) else None


def _pictures(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") == "image":
            yield f"[image] {word(part.get('mimeType'))}"


def _own_command(message: Mapping[str, Any]) -> NativeEvent:
    """Return the event of a command that the person ran with ``!``, with its output."""
    command, output = string(message.get("command")), string(message.get("output"))
    event = NativeEvent("lifecycle", "user", one_line(f"! {command}"), "bashExecution")
    event.body = f"! {command}\n{output}"
    event.exit_code = integer(message.get("exitCode"))
    return event


def usage_of_message(message: Mapping[str, Any], record: Record) -> NativeUsage | None:
    """Return the usage of an answer, or of the model that a tool asked. None for other messages and
    for an answer that was broken off, whose figures are incomplete."""
    if message.get("role") == "toolResult":
        # The log has one sum for all models that the tool asked, and names none of them.
        return _usage(message.get("usage"), "", "unknown", record)
    broken_off = message.get("stopReason") in ("error", "aborted")
    if message.get("role") != "assistant" or broken_off:
        return None
    response = string(message.get("responseId"))
    return _usage(message.get("usage"), response, model_of_message(message), record)


def model_of_message(message: Mapping[str, Any]) -> str:
    """Return the model of an answer, with its seller."""
    model = name_in(message.get("model")) or "unknown"
    return model_sold_by(string(message.get("provider")), model)


def usage_of_summary(entry: Mapping[str, Any], model: str, record: Record) -> NativeUsage | None:
    """Return the usage of a summary.

    The entry of a summary names no model, so ``model`` is the model of the answer before.
    """
    return _usage(entry.get("usage"), "", model or "unknown", record)


def usage_of_entry(entry: Mapping[str, Any], record: Record) -> NativeUsage | None:
    """Return the usage of a request that has no message, such as one that keeps a cache warm."""
    return _usage(entry.get("usage"), "", model_of_message(entry), record)


def _usage(used: Any, response: str, model: str, record: Record) -> NativeUsage | None:
    if not isinstance(used, Mapping):
        return None
    sent, given = count_of(used.get("input")), count_of(used.get("output"))
    read, written = count_of(used.get("cacheRead")), count_of(used.get("cacheWrite"))
    if not (response or sent or given or read or written):
        return None
    return NativeUsage(
        response or f"pi@{record.native_id or f'{record.session}@{record.offset}'}",
        model,
        input_tokens=sent,
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=part_of(count_of(used.get("cacheWrite1h")), written),
        reasoning_tokens=part_of(count_of(used.get("reasoning")), given),
        reported_cost=microdollars(mapping(used.get("cost")).get("total")),
    )
