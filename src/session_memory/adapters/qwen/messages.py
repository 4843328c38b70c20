"""Translate the prompts, answers and results of Qwen Code into events."""

import re
from typing import Any

from session_memory.adapters.base import NativeEvent
from session_memory.adapters.conversation import word
from session_memory.adapters.detectors import is_edit_tool, is_shell_tool
from session_memory.adapters.json_records import integer, mapping, name_in, parts_of, string
from session_memory.adapters.qwen.state import QwenState
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.injected import without_injected
from session_memory.core.text import one_line

_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})\s*$", re.MULTILINE)
_RESPONSE = "functionResponse"
_FILES = "--- Content from referenced files ---"
# Qwen Code puts such parts before a prompt, for instance when it restored a subagent.
_REMINDER = re.compile(
    r"\s*<system-reminder>(?:(?!</system-reminder>).)*</system-reminder>\s*\Z", re.DOTALL
)
_WHILE_WORKING = "mid_turn_user_message"
_PEOPLE = frozenset({"", "real_user"})


def _parts(native: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in parts_of(mapping(native.get("message")).get("parts")) if part]


def prompt(native: dict[str, Any]) -> list[NativeEvent]:
    """Return the event of a line of type ``user``: a prompt of a person, or an injected text."""
    parts = _parts(native)
    text = "\n".join(filter(None, (string(part.get("text")) for part in parts)))
    subtype, source = string(native.get("subtype")), string(native.get("provenance"))
    is_injected = source not in _PEOPLE or subtype not in ("", _WHILE_WORKING)
    # The parts may also have files that the prompt names, and text that hooks added.
    typed = string(mapping(native.get("systemPayload")).get("displayText")) or _typed(parts)
    words = without_injected(typed or text)
    if is_injected or native.get("isSidechain") is True or (text.strip() and not words.strip()):
        kind = f"user/{word(subtype or source or 'subagent_prompt')}"
        return [NativeEvent("lifecycle", "user", one_line(text), kind, body=text)]
    words = words or " ".join(f"[{word(next(iter(part)))}]" for part in parts if "text" not in part)
    if not words:
        return [NativeEvent("lifecycle", "user", "", "user/empty")]
    event = NativeEvent("user_msg", "user", one_line(words), "user", is_prompt=True, text=words)
    event.body = text
    if subtype == _WHILE_WORKING:
        event.kind, event.marks = "human_intervention", ("user_msg",)
    return [event]


def _typed(parts: list[dict[str, Any]]) -> str:
    """Return the text of a prompt without Qwen Code's reminders before it, and without the content
    of the files that it names after it."""
    texts = [string(part.get("text")) for part in parts]
    first = next((n for n, text in enumerate(texts) if not _REMINDER.match(text)), 0)
    last = next((n for n, text in enumerate(texts) if text.strip() == _FILES), len(texts))
    return "\n".join(filter(None, texts[first:last]))


def answer(native: dict[str, Any], state: QwenState) -> list[NativeEvent]:
    """Return one event for each part of an answer, and one more if a person stopped the answer.

    An answer without parts gives an event, too.
    """
    events = [_part(part) for part in _parts(native)]
    if not events:
        events.append(NativeEvent("lifecycle", "assistant", "", "assistant/empty"))
    elif events[-1].kind == "assistant_msg" and not any(event.call_id for event in events):
        events[-1].ends_turn = bool(native.get("usageMetadata"))
    is_half = _is_half(events, state)
    model = name_in(native.get("model")) or state.model or None
    response, state.response, state.is_requested = state.response or None, "", False
    for event in events:
        event.model, event.response_id = model, response
    if is_half:
        stopped = "stopped in the middle of the answer"
        kind, label = "human_intervention", "assistant/aborted"
        events.append(NativeEvent(kind, "user", stopped, label, is_interrupt=True))
    return events


def _is_half(events: list[NativeEvent], state: QwenState) -> bool:
    """Whether a person stopped the answer. Then Qwen Code logs the words that it had received, but
    no line for the request before them, although the log has such a line for every other answer.

    Such an answer may have a ``usageMetadata``: models of Anthropic report tokens at the beginning
    of an answer, too.
    """
    is_said = events[-1].kind in ("assistant_msg", "thinking")
    return is_said and state.counts_requests and not state.is_requested


def _part(part: dict[str, Any]) -> NativeEvent:
    text = string(part.get("text"))
    if "functionCall" in part:
        return _call(mapping(part["functionCall"]))
    if part.get("thought"):
        return NativeEvent("thinking", "assistant", one_line(text), "assistant/thought", body=text)
    if text:
        return NativeEvent("assistant_msg", "assistant", one_line(text), "assistant", body=text)
    kind = word(next(iter(part), "empty"))
    return NativeEvent("lifecycle", "assistant", f"[{kind}]", f"assistant/{kind}")


def _call(call: dict[str, Any]) -> NativeEvent:
    tool, arguments = one_line(string(call.get("name"))) or "unknown", call.get("args")
    given = mapping(arguments)
    path = string(given.get("file_path")) or string(given.get("path")) or None
    return call_event(
        name_in(call.get("id")) or "unnamed",
        tool,
        arguments,
        "assistant/tool",
        path=path,
        is_edit=is_edit_tool(tool, arguments),
    )


def tool_results(native: dict[str, Any]) -> list[NativeEvent]:
    """Return the events of the results in a line. A line nearly always has one result."""
    answers = [mapping(part[_RESPONSE]) for part in _parts(native) if _RESPONSE in part]
    details = mapping(native.get("toolCallResult"))
    return [_result(answer, details) for answer in answers or [{}]]


def _result(found: dict[str, Any], details: dict[str, Any]) -> NativeEvent:
    """Return the event of a call's result. The status ``cancelled``: a person refused the call."""
    response = mapping(found.get("response"))
    text = string(response.get("output")) or string(response.get("error"))
    shown = mapping(details.get("resultDisplay"))
    code = integer(shown.get("exitCode"))
    tool = string(found.get("name"))
    # The exit code is after the text that the command printed. The output of other tools is not
    # searched, because it may be a file with such a line.
    if code is None and (not tool or is_shell_tool(tool)) and (exited := _EXIT.findall(text)):
        code = int(exited[-1])
    status = string(details.get("status"))
    refused = status == "cancelled"
    event = result_event(
        name_in(found.get("id")) or name_in(details.get("callId")) or "unnamed",
        one_line(text),
        "tool_result",
        failed=refused or status == "error" or "error" in response or bool(code),
        marks=("human_intervention",) if refused else (),
    )
    event.exit_code, event.text = code, text
    event.is_shell, event.is_interrupt = True, refused
    event.duration_ms = _duration(details)
    return event


def _duration(details: dict[str, Any]) -> int | None:
    spent = integer(details.get("durationMs"))
    return spent if spent is not None and spent >= 0 else None
