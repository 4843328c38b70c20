"""Translate prompts, answers, calls and results in the logs of Kimi Code."""

import re
from typing import Any

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.conversation import ConversationMessage, events_of, word
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.json_records import (
    integer,
    items,
    mapping,
    name_in,
    parts_of,
    string,
)
from session_memory.adapters.kimi.state import KimiState
from session_memory.adapters.kimi.usage import step_used
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line

_EXITED = re.compile(r"Command failed with exit code: (\d{1,9})\.?\s*\Z")
# The number of characters at the end of a result that are searched for the exit code.
_ENDING = 200
_SPAWNED = "subagent"


def words_of(content: Any) -> str:
    """Return the text of a message's content. A part without a text, such as an image, becomes its
    type in brackets."""
    texts = [
        string(part.get("text")) if "text" in part else f"[{word(part.get('type'))}]"
        for part in parts_of(content)
    ]
    return "\n".join(text for text in texts if text)


def prompt(native: dict[str, Any], record: Record, state: KimiState, kind: str) -> None:
    """Add the event of a prompt. A ``turn.prompt`` begins a turn; a ``turn.steer`` is added to a
    running turn."""
    text, origin = words_of(native.get("input")), mapping(native.get("origin"))
    own = name_in(native.get("promptId"))
    if own:
        record.native_id = fit_native_id(f"kimi@{own}")[0]
    state.expect_copy(own or _copy_key(text))
    record.events.append(_prompt_event(text, origin, record, kind))
    if record.is_sidechain and not state.has_prompts and text:
        # A subagent begins with its task, which becomes its name.
        record.facts = {"agent_name": one_line(text)}
    state.has_prompts = True


def _prompt_event(text: str, origin: dict[str, Any], record: Record, kind: str) -> NativeEvent:
    source = string(origin.get("kind"))
    command = _typed_command(origin)
    if record.is_sidechain or (source not in ("", "user") and not command):
        # The agent began this turn by itself, or for another agent.
        label = f"{kind}/{word(string(origin.get('name')) or source or _SPAWNED)}"
        event = NativeEvent("lifecycle", "user", one_line(text), label, body=text)
        event.is_prompt = kind == "turn.prompt" and not record.is_sidechain
        return event
    words = command or text
    event = NativeEvent("user_msg", "user", one_line(words), kind, is_prompt=True, text=words)
    event.body = text
    if kind == "turn.steer":
        event.kind, event.marks = "human_intervention", ("user_msg",)
    return event


def _typed_command(origin: dict[str, Any]) -> str:
    """Return the slash command that a person typed to begin the turn, such as a skill; "" if the
    turn began in another way."""
    if origin.get("trigger") != "user-slash":
        return ""
    name = string(origin.get("skillName")) or string(origin.get("commandName"))
    given = string(origin.get("skillArgs")) or string(origin.get("commandArgs"))
    return f"/{name} {given}".strip() if name else ""


def _copy_key(text: str) -> str:
    return fit_native_id(f"text {text}")[0]


def message(native: dict[str, Any], record: Record, state: KimiState, kind: str) -> None:
    """Translate a message that was added to the context. The second copy of a prompt is
    bookkeeping."""
    content = mapping(native.get("message"))
    role, origin = string(content.get("role")), mapping(content.get("origin"))
    text, own = words_of(content.get("content")), name_in(content.get("id"))
    if role == "user":
        if state.is_copy(own) or state.is_copy(_copy_key(text)):
            record.bookkeeping = "message/copy"
            return
        source = string(origin.get("kind"))
        if source in ("", "user") and not record.is_sidechain:
            record.events = events_of(ConversationMessage(role="user", content=text))
            state.has_prompts = True
            return
        label = f"message/{word(source or _SPAWNED)}"
        record.events.append(NativeEvent("lifecycle", "user", one_line(text), label, body=text))
        return
    whole = ConversationMessage(
        role=role or "untyped",
        content=blocks_of(content.get("content")),
        tool_calls=content.get("toolCalls"),
        tool_call_id=string(content.get("toolCallId")) or None,
        is_error=content.get("isError") is True,
        model=state.model or None,
    )
    record.events = events_of(whole)


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of an answer as blocks with the names that
    `session_memory.adapters.conversation` reads."""
    return [
        {"type": "thinking", "thinking": part.get("think")}
        if part.get("type") == "think"
        else {"type": "text", **part}
        for part in parts_of(content)
    ]


def loop_event(native: dict[str, Any], record: Record, state: KimiState, kind: str) -> None:
    """Translate a part of a step. A step is one request to the model with its answer and calls."""
    event = mapping(native.get("event"))
    own, what = name_in(event.get("uuid")), word(event.get("type"))
    if own:
        # The beginning and the end of a step have the same id.
        mark = f"@{what}" if what.startswith("step.") else ""
        record.native_id = fit_native_id(f"kimi@{own}{mark}")[0]
    match what:
        case "step.begin":
            state.step, state.ended = own and fit_native_id(f"kimi@{own}")[0], ""
            record.bookkeeping = "loop/step.begin"
        case "step.end":
            step_used(event, record, state)
            state.ended = word(event.get("finishReason"))
            record.bookkeeping = "loop/step.end"
        case "content.part":
            record.events.append(_part(mapping(event.get("part")), state))
        case "tool.call":
            record.events.append(_call(event, state))
        case "tool.result":
            called = name_in(event.get("parentUuid"))
            if called:
                record.native_id = fit_native_id(f"kimi@{called}@result")[0]
            record.events.append(_result(event))
        case _:
            record.events.append(NativeEvent("lifecycle", "system", "", f"loop/{what}"))


def _part(part: dict[str, Any], state: KimiState) -> NativeEvent:
    match word(part.get("type")):
        case "text":
            text = string(part.get("text"))
            event = NativeEvent("assistant_msg", "assistant", one_line(text), "loop/text")
        case "think":
            text = string(part.get("think"))
            event = NativeEvent("thinking", "assistant", one_line(text), "loop/think")
        case kind:
            text = ""
            event = NativeEvent("lifecycle", "assistant", f"[{kind}]", f"loop/{kind}")
    event.body = text
    event.model, event.response_id = state.model or None, state.step or None
    return event


def _call(call: dict[str, Any], state: KimiState) -> NativeEvent:
    tool, arguments = one_line(string(call.get("name"))) or "unknown", call.get("args")
    event = call_event(
        string(call.get("toolCallId")) or "unnamed",
        tool,
        arguments,
        "loop/tool.call",
        path=string(mapping(arguments).get("path")) or None,
        is_edit=is_edit_tool(tool, arguments),
    )
    event.model, event.response_id = state.model or None, state.step or None
    return event


def _result(event: dict[str, Any]) -> NativeEvent:
    result = mapping(event.get("result"))
    output = result.get("output")
    text = escaped(output) if isinstance(output, str) else words_of(items(output))
    exited = _EXITED.search(text[-_ENDING:])
    found = result_event(
        string(event.get("toolCallId")) or "unnamed",
        one_line(text),
        "loop/tool.result",
        failed=result.get("isError") is True,
    )
    found.exit_code = int(exited[1]) if exited and found.is_error else None
    found.text, found.is_shell = text, True
    spent = integer(result.get("durationMs"))
    found.duration_ms = spent if spent is not None and spent >= 0 else None
    return found
