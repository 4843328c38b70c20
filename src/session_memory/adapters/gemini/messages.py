"""Translate the messages of Gemini CLI into events, and the tokens of an answer into usage."""

import re
from typing import Any

from session_memory.adapters.base import ChildLink, NativeEvent, NativeUsage
from session_memory.adapters.conversation import word
from session_memory.adapters.detectors import is_edit_tool, is_shell_tool
from session_memory.adapters.event_text import event_text
from session_memory.adapters.gemini.state import GeminiState
from session_memory.adapters.json_records import items, mapping, name_in, parts_of, string
from session_memory.adapters.token_counts import count_of, part_of, together, without
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.ids import fit_native_id
from session_memory.core.injected import without_injected
from session_memory.core.text import one_line
from session_memory.core.time import time_or_none

_CONTEXT = "<session_context>"
SESSION_CONTEXT = "user/session_context"
_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})\s*$", re.MULTILINE)
_OUTPUT = "Output: "
# Gemini CLI puts the output of hooks before the prompt.
_HOOKS = re.compile(r"\A(?:\s*<hook_context>.*?</hook_context>)+\s*", re.DOTALL)
# Gemini CLI sends these texts to the model by itself, and logs them like prompts.
_FROM_PROGRAM = re.compile(r"System: (?:Potential loop detected\. |Please continue\.\Z)")
# Gemini CLI tells the model of a command that the person ran with ``!``, and logs it as a prompt.
_OWN_COMMAND = re.compile(
    r"\AI ran the following shell command:\n```sh\n(.*?)\n```\n\n"
    r"This produced the following result:\n```\n",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([\\`])")
OWN_COMMAND = "user/shell"
_CANCELLED = "Request cancelled."
# Milliseconds in ten days. Nobody waits longer for a call.
_LONGEST_CALL = 10 * 24 * 3600 * 1000


def events_of_message(
    message: dict[str, Any], state: GeminiState, *, again: bool = False
) -> list[NativeEvent]:
    """Return the events of a message; an empty list if none of them is new.

    ``again``: Gemini CLI wrote the message before. Then only new calls and results are new events.
    """
    match message.get("type"):
        case "user":
            events = _from_user(message, state)
        case "gemini" | "qwen":
            events = _from_model(message, state)
        case "info" | "warning" | "error" as kind:
            events = [_notice(kind, _text(message))]
        case kind:
            text = _text(message)
            events = [NativeEvent("lifecycle", "system", one_line(text), word(kind), body=text)]
    for event in events:
        event.is_repeated = event.is_repeated or (again and event.call_id is None)
    return [] if all(event.is_repeated for event in events) else events


def _text(message: dict[str, Any]) -> str:
    """Return the texts of a message's parts that are no thoughts."""
    parts = parts_of(message.get("content"))
    text = (string(part.get("text")) for part in parts if part.get("thought") is not True)
    return "\n".join(filter(None, text))


def _from_user(message: dict[str, Any], state: GeminiState) -> list[NativeEvent]:
    events = [
        event
        for part in parts_of(message.get("content"))
        if "functionResponse" in part
        for event in _result(mapping(part["functionResponse"]), state)
    ]
    if (event := _prompt_event(message)) is not None:
        events.append(event)
    return events or [NativeEvent("lifecycle", "user", "", "user/empty")]


def _prompt_event(message: dict[str, Any]) -> NativeEvent | None:
    """Return the event of a message to the model, without the results of calls in it; None if the
    message has only such results."""
    whole, displayed = _text(message), _text({"content": message.get("displayContent")})
    parts = parts_of(message.get("content"))
    pasted = [next(iter(part)) for part in parts if part and "text" not in part]
    if any("functionResponse" in part for part in parts):
        # A picture in a message with results is from a tool that read it, not from a person.
        pasted = []
    if whole.startswith(_CONTEXT):
        return NativeEvent("lifecycle", "system", one_line(whole), SESSION_CONTEXT, body=whole)
    if _FROM_PROGRAM.match(whole):
        # The displayed text is not used here: it may be the last prompt again.
        return NativeEvent("lifecycle", "system", one_line(whole), "user/system", body=whole)
    if ran := _OWN_COMMAND.match(whole):
        words = one_line("! " + _ESCAPED.sub(r"\1", ran[1]))
        return NativeEvent("lifecycle", "user", words, OWN_COMMAND, body=whole)
    # The displayed text is preferred, because the content may also have the files that the prompt
    # names.
    words = _typed(displayed or whole)
    if not whole and not words and not pasted:
        return None
    if not words and not pasted:
        kind = "user/hook_context"
        return NativeEvent("lifecycle", "user", one_line(whole), kind, body=whole)
    words = words or " ".join(f"[{word(kind)}]" for kind in pasted)
    event = NativeEvent("user_msg", "user", one_line(words), "user", is_prompt=True, text=words)
    event.body = whole
    return event


def is_target(event: NativeEvent) -> bool:
    """Whether a person can go back to this event: a prompt, or a command of the person."""
    return event.is_prompt or event.native_kind == OWN_COMMAND


def prompt_in(message: dict[str, Any]) -> str:
    """Return the whole text of a message that a person can go back to; "" for any other message."""
    event = _prompt_event(message) if message.get("type") == "user" else None
    return event_text(event) if event is not None and is_target(event) else ""


def _typed(text: str) -> str:
    """Return what a person typed, without the text that hooks added."""
    words = without_injected(_HOOKS.sub("", text))
    return text if words == text else words.strip()


def _from_model(message: dict[str, Any], state: GeminiState) -> list[NativeEvent]:
    events = [*_thoughts(message), *_words(message)]
    calls = [mapping(call) for call in items(message.get("toolCalls"))]
    if not calls and events and events[-1].kind == "assistant_msg":
        events[-1].ends_turn = True
    own = name_in(message.get("id"))
    for position, call in enumerate(calls):
        made = _call(call, position, own, state)
        made[-1].duration_ms = _took(message, call) if len(made) > 1 else None
        events += made
    if not events:
        events.append(NativeEvent("lifecycle", "assistant", "", "gemini/empty"))
    model = state.model_of(message) or None
    for event in events:
        if event.role == "assistant":
            event.model, event.response_id = model, own or None
    return events


def _thoughts(message: dict[str, Any]) -> list[NativeEvent]:
    thoughts = [mapping(thought) for thought in items(message.get("thoughts"))]
    parts = [part for part in parts_of(message.get("content")) if part.get("thought") is True]
    found = [
        *(string(one.get("description")) or string(one.get("subject")) for one in thoughts),
        *(string(part.get("text")) for part in parts),
    ]
    return [
        NativeEvent("thinking", "assistant", one_line(text), "gemini/thought", body=text)
        for text in filter(None, found)
    ]


def _words(message: dict[str, Any]) -> list[NativeEvent]:
    text = _text(message)
    if not text:
        return []
    return [NativeEvent("assistant_msg", "assistant", one_line(text), "gemini", body=text)]


def _call(
    call: dict[str, Any], position: int, message: str, state: GeminiState
) -> list[NativeEvent]:
    """Return the event of a call, and of its result if the call has ended. Gemini CLI logs both
    together.

    ``position`` is the place of the call in its message, ``message`` the id of that message.
    """
    call_id = name_in(call.get("id"))
    # The position in the message identifies a call without an id.
    noted, call_id = call_id or f"unnamed {position}", call_id or "unnamed"
    tool, arguments = one_line(string(call.get("name"))) or "unknown", call.get("args")
    given = mapping(arguments)
    path = string(given.get("file_path")) or string(given.get("path")) or None
    edits = is_edit_tool(tool, arguments)
    asked = call_event(call_id, tool, arguments, "gemini/tool", path=path, is_edit=edits)
    asked.is_repeated = not state.ask(noted, message) and bool(message)
    status = call.get("status")
    if status not in ("success", "error", "cancelled"):
        return [asked]
    ended = _ended(call_id, tool, _output(call), string(status), _shown(call))
    ended.is_repeated = not state.answer(noted) and bool(message)
    return [asked, ended]


def _took(message: dict[str, Any], call: dict[str, Any]) -> int | None:
    """Return the milliseconds from an answer to the end of its call. They include the time until a
    person allowed the call."""
    began, ended = time_or_none(message.get("timestamp")), time_or_none(call.get("timestamp"))
    if began is None or ended is None or not 0 <= ended - began <= _LONGEST_CALL:
        return None
    return ended - began


def _output(call: dict[str, Any]) -> str:
    """Return the output of a call that the model got, else the one that the person saw."""
    found = [
        _response(mapping(mapping(part).get("functionResponse")))
        for part in items(call.get("result"))
    ]
    return "\n".join(filter(None, found)) or string(call.get("resultDisplay"))


def _response(answer: dict[str, Any]) -> str:
    response = mapping(answer.get("response"))
    return string(response.get("output")) or string(response.get("error"))


def _shown(call: dict[str, Any]) -> str:
    """Return what the command of a call printed; "" if that is not known."""
    return string(call.get("resultDisplay"))


def _ended(call_id: str, tool: str, text: str, status: str, printed: str = "") -> NativeEvent:
    # Gemini CLI logs a command that failed as a success. Only its output has the exit code, after
    # the text that the command printed. This text may have such a line, too.
    _, _, told = text.partition(_OUTPUT)
    told = told[len(printed) :] if printed and told.startswith(printed) else text
    exited = _EXIT.findall(told) if is_shell_tool(tool) else []
    code = int(exited[-1]) if exited else None
    refused = status == "cancelled"
    event = result_event(
        call_id,
        one_line(text),
        "gemini/tool_result",
        failed=status != "success" or bool(code),
        marks=("human_intervention",) if refused else (),
    )
    event.exit_code, event.text = code, text
    event.is_shell, event.is_interrupt = True, refused
    return event


def _result(answer: dict[str, Any], state: GeminiState) -> list[NativeEvent]:
    """Return the events of a result in a message to the model.

    Mostly these events are repeated ones, because Gemini CLI also writes the call again with its
    result. If the agent was stopped before that, or refused a call that a subagent may not make, no
    other line has the call, and its events are new.
    """
    call_id, tool = name_in(answer.get("id")), string(answer.get("name"))
    failed = "error" in mapping(answer.get("response"))
    status = "error" if failed else "success"
    event = _ended(call_id or "unnamed", tool, _response(answer), status)
    event.is_repeated = bool(call_id) and not state.answer(call_id)
    asked = call_event(call_id or "unnamed", one_line(tool) or "unknown", {}, "gemini/tool")
    asked.is_repeated = not call_id or event.is_repeated or not state.miss(call_id)
    return [asked, event]


def _notice(kind: str, text: str) -> NativeEvent:
    if text.strip() == _CANCELLED:
        return NativeEvent("human_intervention", "user", _CANCELLED, kind, is_interrupt=True)
    event = NativeEvent("lifecycle", "system", one_line(text), kind, body=text)
    if kind == "error":
        event.kind, event.is_error = "error", True
    return event


def children(message: dict[str, Any]) -> list[ChildLink]:
    """Return the links to the subagents that the calls of a message started."""
    calls = [mapping(call) for call in items(message.get("toolCalls"))]
    return [
        ChildLink(fit_native_id(child)[0], call_id)
        for call in calls
        if (child := string(call.get("agentId"))) and (call_id := name_in(call.get("id")))
    ]


def usage_of_message(message: dict[str, Any], state: GeminiState) -> NativeUsage | None:
    """Return the usage of an answer, or None. ``input`` includes cached tokens; ``output`` does not
    include thoughts."""
    used, own = message.get("tokens"), name_in(message.get("id"))
    kind = message.get("type")
    if kind not in ("gemini", "qwen") or not isinstance(used, dict) or not own:
        return None
    sent, cached = count_of(used.get("input")), count_of(used.get("cached"))
    given, thought = count_of(used.get("output")), count_of(used.get("thoughts"))
    return NativeUsage(
        own,
        state.model_of(message) or "unknown",
        input_tokens=together(without(sent, cached), count_of(used.get("tool"))),
        # Qwen Code has the same form, but its output includes the thoughts.
        output_tokens=together(given, thought) if kind == "gemini" else given,
        cache_read_tokens=cached,
        reasoning_tokens=thought if kind == "gemini" else part_of(thought, given),
    )
