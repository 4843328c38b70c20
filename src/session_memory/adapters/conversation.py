"""Translate the chat messages of agent runtimes into events.

The content of a message is a list of blocks or a text; one block is one event. This module does
not know which runtime wrote a message. The adapters handle the differences between runtimes, such
as where usage is logged.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from session_memory.adapters.base import NativeEvent, NativeUsage
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.token_counts import count_of, part_of, together, without
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.injected import without_injected
from session_memory.core.text import escaped, one_line

SPOKEN = frozenset({"text", "input_text", "output_text"})
CALLS = frozenset({"tool_use", "function_call"})
RESULTS = frozenset({"tool_result", "function_call_output"})
LONGEST_TEXT = 256 * 1024
LONGEST_ID = 500
_EXIT = re.compile(r"\[?exit (?:code|status):? (-?\d{1,9})\]?\s*\Z", re.IGNORECASE)
_PATHS = ("path", "file_path", "filename", "file", "notebook_path")


class ConversationMessage(msgspec.Struct, kw_only=True, gc=False):
    """One message of a conversation.

    ``is_injected``: the runtime wrote the message, no person and no model. ``tells_errors``: the
    log marks each result that is an error, so the text of a result is not searched for that.
    """

    role: str
    content: Any = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    name: str | None = None
    model: str | None = None
    response_id: str | None = None
    is_injected: bool = False
    is_error: bool = False
    tells_errors: bool = False


def events_of(message: ConversationMessage) -> list[NativeEvent]:
    """Return one event for each block and each call of a message, in order.

    An empty message gives one event, and so does a message with the result of a call.
    """
    events = list(_events(message))
    if not events:
        events = [_plain(message, "", f"{word(message.role)}/empty")]
    if message.role == "assistant":
        _finish_answer(events, message)
    return events


def _events(message: ConversationMessage) -> Iterator[NativeEvent]:
    if message.tool_call_id:
        text = text_of(message.content)
        yield _result(message, message.tool_call_id, text, message.is_error, "tool")
        return
    content = message.content
    blocks = content if isinstance(content, list) else [content] if content else []
    asked = False
    for block in blocks:
        event = _block(message, block)
        # All blocks that a person sends at once are one prompt.
        event.is_prompt = event.is_prompt and not asked
        asked = asked or event.is_prompt
        yield event
    calls = message.tool_calls
    for call in calls if isinstance(calls, list) else ():
        yield _flat_call(call)


def _block(message: ConversationMessage, block: Any) -> NativeEvent:
    if isinstance(block, str):
        return _plain(message, block, f"{word(message.role)}/text")
    if not isinstance(block, Mapping):
        return _plain(message, "", f"{word(message.role)}/{type(block).__name__}")
    kind = word(block.get("type"))
    label = f"{word(message.role)}/{kind}"
    if kind in CALLS:
        call_id = _id(block.get("id")) or _id(block.get("call_id"))
        arguments = block.get("input", block.get("arguments"))
        return _named_call(call_id, block.get("name"), arguments, label)
    if kind in RESULTS:
        call_id = _id(block.get("tool_use_id")) or _id(block.get("call_id"))
        is_error = block.get("is_error") is True
        return _result(message, call_id, result_text(block), is_error, label)
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        text = _str(block.get("thinking") or block.get("text"))
        return NativeEvent("thinking", "assistant", one_line(text), label, body=text)
    if kind in SPOKEN:
        meta = block.get("meta")
        if isinstance(meta, Mapping) and meta.get("attachment"):
            text = _str(block.get("text"))
            return NativeEvent("lifecycle", "user", one_line(text), label, body=text)
        return _plain(message, _str(block.get("text")), label)
    named = _str(block.get("name")) or _str(block.get("mime_type"))
    return _plain(message, f"[{kind}] {named}".strip(), label)


def _plain(message: ConversationMessage, text: str, label: str) -> NativeEvent:
    """Return the event for a text in a message: its kind depends on the role of the message."""
    text = escaped(text)
    event = NativeEvent("lifecycle", "system", one_line(text), label, body=text)
    if message.role == "user":
        event.role = "user"
        words = without_injected(text)
        if not message.is_injected and (words.strip() or not text.strip()):
            event.kind, event.is_prompt, event.text = "user_msg", True, words[:LONGEST_TEXT]
            event.summary = one_line(words)
    elif message.role == "assistant":
        event.kind, event.role = "assistant_msg", "assistant"
    if message.name and event.role == "system":
        event.native_kind = f"{word(message.role)}/{word(message.name)}"
    return event


def _finish_answer(events: list[NativeEvent], message: ConversationMessage) -> None:
    for event in events:
        if event.role == "assistant" and not message.is_injected:
            event.model = message.model
            event.response_id = message.response_id
    if message.is_injected:
        for event in events:
            if event.kind == "assistant_msg":
                event.kind = "lifecycle"
        return
    if events[-1].kind == "assistant_msg" and not any(e.call_id for e in events):
        events[-1].ends_turn = True


def _flat_call(call: Any) -> NativeEvent:
    native = call if isinstance(call, Mapping) else {}
    function = native.get("function")
    inner = function if isinstance(function, Mapping) else native
    arguments = inner.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = decode_anything(arguments.encode("utf-8", "surrogatepass"))
        except ValueError:
            arguments = {"arguments": arguments}
    call_id = _id(native.get("id")) or _id(native.get("call_id"))
    return _named_call(call_id, inner.get("name"), arguments, "assistant/tool_call")


def _named_call(call_id: str, tool: Any, arguments: Any, label: str) -> NativeEvent:
    name, path = one_line(_str(tool)) or "unknown", None
    if isinstance(arguments, Mapping):
        path = next((v for n in _PATHS if isinstance(v := arguments.get(n), str) and v), None)
    is_edit = is_edit_tool(name, arguments)
    return call_event(call_id or "unnamed", name, arguments, label, path=path, is_edit=is_edit)


def _result(
    message: ConversationMessage, call_id: str, text: str, is_error: bool, label: str
) -> NativeEvent:
    text = escaped(text)
    exited = None if message.tells_errors else _EXIT.search(text[-80:])
    exit_code = int(exited[1]) if exited else None
    failed = is_error or bool(exit_code)
    event = result_event(call_id or "unnamed", one_line(text), label, failed=failed)
    event.exit_code, event.is_shell = exit_code, True
    event.text, event.body = text[:LONGEST_TEXT], text if len(text) > LONGEST_TEXT else ""
    return event


def result_text(block: Mapping[str, Any]) -> str:
    """Return the text of a tool's result: the text for the model, else the text for people, else
    the texts in the block's content."""
    for name in ("output", "model_text", "display_text"):
        if isinstance(value := block.get(name), str) and value:
            return value
    return text_of(block.get("content", block.get("output")))


def text_of(content: Any) -> str:
    """Return the text in the ``content`` of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        part if isinstance(part, str) else _str(part.get("text"))
        for part in content
        if isinstance(part, str) or (isinstance(part, Mapping) and word(part.get("type")) in SPOKEN)
    )


def usage_of(usage_id: str, model: str | None, logged: Mapping[str, Any]) -> NativeUsage:
    """Return the token counts of a response from ``logged``, whose field names differ between
    providers and runtimes.

    If cached tokens have Anthropic's names (``cache_…_input_tokens``), the logged input does not
    include cached tokens. With all other names it includes them, so they are subtracted.
    """
    details = _first(logged, "prompt_tokens_details", "input_tokens_details")
    inner = details if isinstance(details, Mapping) else {}
    apart = "cache_read_input_tokens" in logged or "cache_creation_input_tokens" in logged
    read = count_of(
        _first(
            logged,
            "cache_read_tokens",
            "cache_read_input_tokens",
            "cached_tokens",
            "cached_content_token_count",
        )
    ) or count_of(inner.get("cached_tokens"))
    write = count_of(_first(logged, "cache_write_tokens", "cache_creation_input_tokens"))
    sent = count_of(_first(logged, "input_tokens", "prompt_tokens", "prompt_token_count"))
    given = count_of(_first(logged, "output_tokens", "completion_tokens", "candidates_token_count"))
    thought = count_of(logged.get("reasoning_tokens"))
    beside = count_of(logged.get("thoughts_token_count"))
    return NativeUsage(
        usage_id,
        model or "unknown",
        input_tokens=sent if apart else without(sent, read, write),
        output_tokens=together(given, beside),
        cache_read_tokens=read,
        cache_write_tokens=write,
        reasoning_tokens=together(part_of(thought, given), beside),
    )


def _first(logged: Mapping[str, Any], *names: str) -> Any:
    return next((logged[name] for name in names if logged.get(name) is not None), None)


def word(value: Any) -> str:
    """Return a logged name, cut to 40 characters; ``untyped`` if it is blank or no text."""
    return one_line(escaped(value), 40) if isinstance(value, str) and value.strip() else "untyped"


def _id(value: Any) -> str:
    return escaped(value)[:LONGEST_ID] if isinstance(value, str) else ""


def _str(value: Any) -> str:
    return escaped(value) if isinstance(value, str) else ""
