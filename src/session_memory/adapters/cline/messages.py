"""Translate the messages of Cline into events, and the tokens of an answer into usage."""

import re
from typing import Any

from session_memory.adapters.base import NativeEvent, NativeUsage
from session_memory.adapters.conversation import ConversationMessage, events_of, word
from session_memory.adapters.json_records import items, mapping, name_in, string
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.providers import model_sold_by
from session_memory.adapters.reported_costs import microdollars
from session_memory.adapters.token_counts import count_of, part_of, without
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

_INPUT = re.compile(r'<user_input(?: mode="(\w{1,20})")?>(.*?)</user_input>', re.DOTALL)
_EXITED = re.compile(r"Command exited with code (-?\d{1,9})")
# "requires approval": Cline ran without a terminal, so nobody could allow the call.
_REFUSED = re.compile(r"requires approval|(?:denied|rejected) by (?:the )?user", re.IGNORECASE)


def events_of_message(message: dict[str, Any]) -> list[NativeEvent]:
    """Return the events of a message: of each of its blocks, or one event if it has no blocks."""
    role, content = word(message.get("role")), message.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    if role == "user":
        events = [event for block in blocks for event in _from_user(block)]
        return events or [NativeEvent("lifecycle", "user", "", "user/empty")]
    if not blocks:
        return [NativeEvent("lifecycle", "assistant", "", f"{role}/empty")]
    model, own = _model(message), name_in(message.get("id"))
    about = mapping(message.get("metadata"))
    if about.get("displayOnly") is True:
        # Cline shows this message to the person. No model wrote it.
        return [_notice(block, word(about.get("displayRole"))) for block in blocks]
    answer = ConversationMessage(role=role, content=blocks, model=model, response_id=own or None)
    return events_of(answer)


def _notice(block: Any, role: str) -> NativeEvent:
    text = string(block) or string(mapping(block).get("text"))
    event = NativeEvent("lifecycle", "system", one_line(text), f"notice/{role}", body=text)
    if role == "error":
        event.kind, event.is_error = "error", True
    return event


def mode_in(message: dict[str, Any]) -> str:
    """Return the mode in which a person wrote a prompt, such as ``act`` or ``plan``; "" if the
    message is no prompt or names no mode."""
    texts = [string(mapping(block).get("text")) for block in items(message.get("content"))]
    found = [match[1] for text in texts if (match := _INPUT.search(text))]
    return found[-1] or "" if found and message.get("role") == "user" else ""


def _from_user(block: Any) -> list[NativeEvent]:
    native = {"type": "text", "text": block} if isinstance(block, str) else mapping(block)
    if native.get("type") == "tool_result":
        return [_result(native)]
    whole = string(native.get("text"))
    if native.get("type") != "text" or not _INPUT.search(whole):
        return events_of(ConversationMessage(role="user", content=[native]))
    text = "\n\n".join(match[2] for match in _INPUT.finditer(whole)).strip()
    # `body` also has the text that Cline wrote around the words of the person.
    events = events_of(ConversationMessage(role="user", content=[{"type": "text", "text": text}]))
    events[0].body = whole if _INPUT.sub("", whole).strip() else ""
    return events


def _result(native: dict[str, Any]) -> NativeEvent:
    text, failed = _output(native.get("content"))
    failed = failed or native.get("is_error") is True
    refused = failed and bool(_REFUSED.search(text[:400]))
    event = result_event(
        name_in(native.get("tool_use_id")) or "unnamed",
        one_line(text),
        "user/tool_result",
        failed=failed,
        marks=("human_intervention",) if refused and "by" in text[:400] else (),
    )
    exited = _EXITED.search(text)
    event.exit_code = int(exited[1]) if exited and failed else None
    event.text, event.is_shell = text, True
    return event


def _output(content: Any) -> tuple[str, bool]:
    """Return the text of a result, and whether it is a failure.

    A result is a text, or a list of objects, one for each of several commands or files. It may also
    be one such object as JSON in a text.
    """
    if isinstance(content, str):
        inner = _object_in(content)
        return _output([inner]) if inner else (escaped(content), False)
    texts, failed = [], False
    for part in items(content):
        native = {"result": part} if isinstance(part, str) else mapping(part)
        failed = failed or native.get("success") is False or "error" in native
        text = _text_of(native)
        error = string(native.get("error"))
        texts += [text] if text else []
        texts += [error] if error and error not in text else []
    return "\n".join(texts), failed


def _text_of(native: dict[str, Any]) -> str:
    for name in ("result", "text"):
        value = native.get(name)
        if isinstance(value, str) and value:
            return escaped(value)
        if isinstance(value, list):
            return "\n".join(filter(None, (string(mapping(one).get("text")) for one in value)))
    return ""


def _object_in(text: str) -> dict[str, Any]:
    if not text.startswith('{"'):
        return {}
    try:
        native = mapping(decode_anything(text.encode("utf-8", "surrogatepass")))
    except ValueError:
        return {}
    # An object without these fields is the output of a tool.
    return native if {"result", "error", "text"} & {*native} else {}


def _model(message: dict[str, Any]) -> str | None:
    about = mapping(message.get("modelInfo"))
    model = string(about.get("id"))
    return model_sold_by(string(about.get("provider")), model) if model else None


def usage_of_message(message: dict[str, Any]) -> NativeUsage | None:
    """Return the usage of an answer, or None. ``inputTokens`` includes the tokens that were read
    from and written to a cache."""
    used, own = message.get("metrics"), name_in(message.get("id"))
    if message.get("role") != "assistant" or not isinstance(used, dict) or not own:
        return None
    sent, given = count_of(used.get("inputTokens")), count_of(used.get("outputTokens"))
    read, written = count_of(used.get("cacheReadTokens")), count_of(used.get("cacheWriteTokens"))
    return NativeUsage(
        own,
        _model(message) or "unknown",
        input_tokens=without(sent, read, written),
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=part_of(count_of(used.get("reasoningTokens")), given),
        reported_cost=microdollars(used.get("cost")) or None,
    )
