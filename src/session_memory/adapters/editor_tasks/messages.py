"""Translate single messages of a task into events.

`session_memory.adapters.editor_tasks.translate` adds what depends on other messages.
"""

from typing import Any

from session_memory.adapters.base import NativeEvent
from session_memory.adapters.conversation import word
from session_memory.adapters.editor_tasks.kinds import (
    ANSWERS,
    CALLS,
    COMPLETIONS,
    EDITS,
    ERRORS,
    FEEDBACK,
    RETRIES,
)
from session_memory.adapters.json_records import items, mapping, string
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line


def kind_of(message: dict[str, Any]) -> str:
    """Return the kind of a message: the name of what the agent says or asks, such as
    ``api_req_started``."""
    is_question = message.get("type") == "ask"
    return word(message.get("ask" if is_question else "say"))


def events_of_task(message: dict[str, Any], call: str, *, is_first: bool) -> list[NativeEvent]:
    """Return the events of a message.

    ``call`` is the id of the call that the message makes or answers. ``is_first``: the message is
    the first one of the task, so its text is a prompt.
    """
    kind, text = kind_of(message), string(message.get("text"))
    label = f"{word(message.get('type'))}/{kind}"
    if is_first and kind in ("text", "task"):
        return [_prompt(message, text, label)]
    if kind in FEEDBACK:
        return [_prompt(message, text, label)]
    if kind in ANSWERS or kind in COMPLETIONS:
        words = _answer(text)
        event = NativeEvent("assistant_msg", "assistant", one_line(words), label, body=words)
        event.ends_turn = kind in COMPLETIONS or kind in ("followup", "plan_mode_respond")
        return [event] if words else []
    if kind == "reasoning":
        words = text or string(message.get("reasoning"))
        return [NativeEvent("thinking", "assistant", one_line(words), label, body=words)]
    if kind in CALLS:
        return _call(kind, text, call, label)
    if label == "ask/command_output" and not text:
        # The agent asks whether it may go on while the command runs. The output follows.
        return []
    if kind in ("command_output", "mcp_server_response", "browser_action_result"):
        return [_result(call, text, label)] if call else [_other(text, label)]
    event = _other(text, label)
    if kind in ERRORS:
        event.kind, event.is_error = "error", True
    elif kind in RETRIES:
        event.marks = ("retry",)
    return [event]


def _other(text: str, label: str) -> NativeEvent:
    return NativeEvent("lifecycle", "system", one_line(text), label, body=text)


def _prompt(message: dict[str, Any], text: str, label: str) -> NativeEvent:
    words = text or " ".join("[image]" for _ in items(message.get("images")))
    return NativeEvent("user_msg", "user", one_line(words), label, is_prompt=True, text=words)


def _answer(text: str) -> str:
    """Return the text of an answer. A question or a plan is logged as an object with options."""
    inner = json_in(text)
    return string(inner.get("question")) or string(inner.get("response")) or text


def _call(kind: str, text: str, call: str, label: str) -> list[NativeEvent]:
    if kind == "command":
        return [call_event(call, "execute_command", {"command": text}, label)]
    asked = json_in(text) or {"text": text}
    name = string(asked.get("tool")) or string(asked.get("toolName")) or kind
    tool, path = one_line(name), string(asked.get("path")) or None
    event = call_event(call, tool, asked, label, path=path, is_edit=tool in EDITS)
    if kind != "tool":
        return [event]
    # The output of most tools is only in the document for the model. But the message of a call that
    # reads a file has the file's content.
    return [event, _result(call, "" if tool in EDITS else string(asked.get("content")), label)]


def _result(call: str, text: str, label: str) -> NativeEvent:
    event = result_event(call, one_line(text), label, failed=False)
    event.text, event.is_shell = text, True
    return event


def json_in(text: str) -> dict[str, Any]:
    """Return the JSON object in a text; an empty object if there is none."""
    if not text.startswith("{"):
        return {}
    try:
        return mapping(decode_anything(text.encode("utf-8", "surrogatepass")))
    except ValueError:
        return {}
